// Budgets by CUDA's number in processes that ask NVML alone, such as nvidia-smi: NVML has an order of its own.
#include <catch2/catch.hpp>

#include <map>
#include <sstream>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

using Totals = std::map<std::string, std::uint64_t>;  // by UUID

// Five cards, and budgets that tell by which name a card was found.
struct Machine {
  Host host{{"8GiB", "8GiB", "8GiB", "8GiB", "8GiB"}};
  std::string budget = "7GiB,cuda:0=1GiB,cuda:1=2GiB,cuda:2=3GiB,cuda:3=4GiB,cuda:4=5GiB";

  // What nvidia-smi shows.
  Totals by_nvml(const std::map<std::string, std::string>& env, const std::vector<std::string>& arguments = {}) {
    const Run run = host.run(program("nvml_only"), arguments, {.budget = budget, .env = env});
    CAPTURE(run.err);
    REQUIRE(run.exit_status == 0);
    return parse(run.out);
  }

  // What a program sees by CUDA; the devices that it does not see have the general budget.
  Totals by_cuda(const std::map<std::string, std::string>& env) {
    Totals totals;
    for (const std::string& uuid : uuids()) totals[uuid] = 7_GiB;
    std::string script = "init 0\n";
    for (const char* i : {"0", "1", "2", "3", "4"}) {
      script += std::string("identity ") + i + "\n";
      script += std::string("total ") + i + "\n";
    }
    const Run run = host.run(program("console"), {}, {.budget = budget, .env = env, .input = script});
    REQUIRE(run.exit_status == 0);
    std::string uuid;
    for (const std::string& line : run.lines()) {
      if (line.rfind("identity 0 ", 0) == 0) uuid = line.substr(line.find("GPU-"));
      if (line.rfind("total 0 ", 0) == 0) totals[uuid] = std::stoull(line.substr(8));
    }
    return totals;
  }

  std::vector<std::string> uuids() {
    std::vector<std::string> list;
    const Run run = host.run(program("nvml_only"), {}, {.preload = false});
    for (const std::string& line : run.lines()) list.push_back(line.substr(0, line.find(' ')));
    REQUIRE(list.size() == 5);
    return list;
  }

  static Totals parse(const std::string& text) {
    Totals totals;
    std::istringstream in(text);
    std::string uuid;
    for (std::uint64_t total = 0; in >> uuid >> total;) totals[uuid] = total;
    return totals;
  }
};

}  // namespace

TEST_CASE("NVML alone shows the budgets that CUDA's numbers have in a program with the same visible devices") {
  Machine machine;
  const std::vector<std::string> uuid = machine.uuids();
  for (const std::string& visible :
       std::vector<std::string>{"0,1,2,3,4", "3,1", "2, 4", "", "-1", "1,-1,0", "0,0", "1,2,1", "7", "4,7,1", "1x,2",
                                uuid[2] + "," + uuid[0], uuid[1].substr(0, 8), "GPU-", "GPU-00000000," + uuid[0],
                                uuid[3] + ",1," + uuid[0], uuid[2] + ",2", "2," + uuid[1] + ",MIG-1234,3"}) {
    CAPTURE(visible);
    const std::map<std::string, std::string> env = {{"CUDA_VISIBLE_DEVICES", visible}};
    CHECK(machine.by_nvml(env) == machine.by_cuda(env));
  }
  CHECK(machine.by_nvml({}) == machine.by_cuda({}));
}

TEST_CASE("NVML alone follows CUDA_DEVICE_ORDER, and names no card by number where only CUDA knows its order") {
  Machine machine;
  const std::vector<std::string> uuid = machine.uuids();
  std::map<std::string, std::string> env = {{"VGSIM_FASTEST", "3"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  CHECK(machine.by_nvml(env) == machine.by_cuda(env));
  env["CUDA_VISIBLE_DEVICES"] = "3,1";
  CHECK(machine.by_nvml(env) == machine.by_cuda(env));

  env["CUDA_DEVICE_ORDER"] = "FASTEST_FIRST";
  const Totals by_number = machine.by_nvml(env);
  for (const auto& [name, total] : by_number) CHECK(total == 7_GiB);
  CHECK(by_number != machine.by_cuda(env));
  env["CUDA_VISIBLE_DEVICES"] = uuid[2] + "," + uuid[3] + "," + uuid[0];
  CHECK(machine.by_nvml(env) == machine.by_cuda(env));
  env["CUDA_VISIBLE_DEVICES"] = "0," + uuid[1];
  CHECK(machine.by_nvml(env).at(uuid[1]) == 2_GiB);
}

TEST_CASE("NVML shows a card that CUDA hides from the program the general budget, not that of its own index") {
  Machine machine;
  const std::map<std::string, std::string> env = {{"CUDA_VISIBLE_DEVICES", "1"}};
  CHECK(machine.by_nvml(env, {"cuda"}) == machine.by_cuda(env));
}

TEST_CASE("NVML alone finds budgets by PCI address") {
  Machine machine;
  machine.budget = "7GiB,pci:47:00.0=1GiB";
  const std::vector<std::string> uuid = machine.uuids();
  const Totals totals = machine.by_nvml({});
  CHECK(totals.at(uuid[0]) == 7_GiB);
  CHECK(totals.at(uuid[1]) == 1_GiB);
}
