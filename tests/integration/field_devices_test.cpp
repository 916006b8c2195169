// What breaks elsewhere: several cards, which CUDA, NVML and CUDA_VISIBLE_DEVICES number each in their own way.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

constexpr std::uint64_t kContextBytes = 520_MiB;

// The UUIDs in NVML's order.
std::vector<std::string> uuids(Host& host) {
  const Run run = host.run(program("views"), {}, {.preload = false, .input = "look\n"});
  std::vector<std::string> list;
  for (const std::string& line : run.lines()) {
    if (line.rfind("nvml ", 0) == 0) list.push_back(line.substr(7, 40));
  }
  REQUIRE(list.size() == 4);
  return list;
}

std::string numbers(std::uint64_t total, std::uint64_t free) {
  return std::to_string(total) + " " + std::to_string(free) + " " + std::to_string(total - free);
}

struct Case {
  std::string order, visible;
  std::vector<std::size_t> cards;  // what the program's numbers stand for, in NVML's order
};

// Fills its device 0, and looks at all.
void check(Host& host, const std::vector<std::string>& uuid, const std::string& budget, const Case& test) {
  CAPTURE(test.order, test.visible);
  const std::size_t records_before = host.log().records().size();
  const Run run = host.run(
      program("views"), {},
      {.budget = budget,
       .env = {{"CUDA_VISIBLE_DEVICES", test.visible}, {"CUDA_DEVICE_ORDER", test.order}, {"VGSIM_FASTEST", "2"}},
       .input = "fill 0 2\nlook\n"});
  CAPTURE(run.err);
  REQUIRE(run.exit_status == 0);
  const std::vector<std::string> lines = run.lines();
  REQUIRE(lines.size() == 1 + test.cards.size() + 4 + 1);
  // The first of its cards is filled to its own budget, and that is what each surface tells.
  const std::uint64_t budget_of_first = (test.cards[0] + 1) * 1_GiB;
  CHECK(lines.at(0) == "fill 2 " + std::to_string((budget_of_first - kContextBytes) / 2_MiB));
  for (std::size_t i = 0; i < test.cards.size(); ++i) {
    const std::uint64_t total = (test.cards[i] + 1) * 1_GiB, free = i == 0 ? 0 : total - kContextBytes;
    const std::string cuda = "cuda " + std::to_string(i) + " " + uuid[test.cards[i]] + " " + std::to_string(total) +
                             " " + std::to_string(free) + " " + std::to_string(total) + " ";
    CHECK(lines.at(1 + i).rfind(cuda, 0) == 0);
    const std::size_t index = test.cards[i];
    const std::string one = "0 " + numbers(total, free);
    CHECK(lines.at(1 + test.cards.size() + index) ==
          "nvml " + std::to_string(index) + " " + uuid[index] + " " + one + " " + one);
  }
  std::vector<std::string> logged, expected;
  for (std::size_t i = records_before; i < run.log.records().size(); ++i) {
    const Record& record = run.log.records()[i];
    if (record["ev"] == "device") logged.push_back(record["dev"] + record["uuid"]);
    if (record["ev"] != "oom_returned") continue;
    CHECK(record["dev"] == "0");
    CHECK(record.number("budget_bytes") == budget_of_first);
    CHECK(record.number("used_bytes") == budget_of_first);
  }
  for (std::size_t i = 0; i < test.cards.size(); ++i) expected.push_back(std::to_string(i) + uuid[test.cards[i]]);
  CHECK(logged == expected);
}

}  // namespace

TEST_CASE("budget, books, log and NVML's view follow the card, whatever number CUDA gives it") {
  Host host({"8GiB", "8GiB", "8GiB", "8GiB"});
  const std::vector<std::string> uuid = uuids(host);
  std::string budget;
  for (std::size_t i = 0; i < 4; ++i) budget += (i ? "," : "") + uuid[i] + "=" + std::to_string(i + 1) + "GiB";
  const std::string by_address = "PCI_BUS_ID", by_speed = "FASTEST_FIRST";  // card 2 is the fastest
  for (const Case& test : {Case{by_address, "0,1,2,3", {0, 1, 2, 3}}, Case{by_speed, "0,1,2,3", {2, 0, 1, 3}},
                           Case{by_address, "2,3", {2, 3}}, Case{by_speed, "2,3", {1, 3}},
                           Case{by_address, "3,1", {3, 1}}, Case{by_speed, "1", {0}}, Case{by_address, "1,-1,3", {1}},
                           Case{by_address, uuid[1], {1}}, Case{by_speed, uuid[3] + "," + uuid[0], {3, 0}},
                           Case{by_speed, uuid[3].substr(0, 9), {3}}, Case{by_address, "1," + uuid[0], {1, 0}},
                           Case{by_address, "3,MIG-3f2504e0-4f89-11d3-9a0c-0305e82c3301", {3}}}) {
    check(host, uuid, budget, test);
  }
}

TEST_CASE("where CUDA_VISIBLE_DEVICES leaves no device, every call fails as without us and nothing is logged") {
  for (const std::string visible :
       {"", "-1", "0,0", "9", "GPU-", "MIG-3f2504e0-4f89-11d3-9a0c-0305e82c3301", "nvidia0"}) {
    CAPTURE(visible);
    Options options{.env = {{"CUDA_VISIBLE_DEVICES", visible}}, .preload = false, .input = "init 0\ncount\nretain 0\n"};
    Host host({"8GiB", "8GiB", "8GiB", "8GiB"});
    const Run plain = host.run(program("console"), {}, options);
    options.preload = true;
    options.budget = "1GiB,cuda:1=2GiB";
    const Run run = host.run(program("console"), {}, options);
    CHECK(run.exit_status == plain.exit_status);
    CHECK(run.lines() == plain.lines());
    CHECK(run.lines().at(0) == "init 100");
    CHECK(run.err == plain.err);
    CHECK(run.log.empty());
  }
}
