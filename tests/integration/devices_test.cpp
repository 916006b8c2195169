// Several devices: budgets follow the card, whatever number the program knows it by.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

struct Identity {
  std::string pci, uuid;
};

std::vector<Identity> identities(Host& host, int count) {
  std::string script = "init 0\n";
  for (int i = 0; i < count; ++i) script += "identity " + std::to_string(i) + "\n";
  const Run run = host.run(program("console"), {}, {.preload = false, .input = script});
  std::vector<Identity> list;
  for (int i = 0; i < count; ++i) {
    char pci[64], uuid[64];
    const std::string line = run.lines().at(static_cast<std::size_t>(i) + 1);
    REQUIRE(std::sscanf(line.c_str(), "identity 0 %63s %63s", pci, uuid) == 2);
    list.push_back({pci, uuid});
  }
  return list;
}

std::string totals(int count) {
  std::string script = "init 0\ncount\n";
  for (int i = 0; i < count; ++i) script += "total " + std::to_string(i) + "\n";
  return script;
}

// The budgets that the program sees, from the first device on.
std::vector<std::string> budgets(const Run& run) {
  std::vector<std::string> list;
  for (const std::string& line : run.lines()) {
    if (line.rfind("total 0 ", 0) == 0) list.push_back(line.substr(8));
  }
  return list;
}

std::string bytes(std::uint64_t n) { return std::to_string(n); }

}  // namespace

TEST_CASE("each device has its own budget, by UUID, PCI address, number or percentage") {
  Host host({"8GiB", "4GiB", "6GiB"});
  const std::vector<Identity> id = identities(host, 3);
  struct Case {
    std::string budget;
    std::vector<std::string> expected;
  };
  for (const Case& test : {
           Case{"1GiB", {bytes(1_GiB), bytes(1_GiB), bytes(1_GiB)}},
           Case{"50%", {bytes(4_GiB), bytes(2_GiB), bytes(3_GiB)}},
           Case{"5GiB", {bytes(5_GiB), bytes(4_GiB), bytes(5_GiB)}},
           Case{"cuda:0=1GiB,cuda:2=25%", {bytes(1_GiB), bytes(4_GiB), bytes(1536_MiB)}},
           Case{id[1].uuid + "=1GiB," + id[2].uuid.substr(0, 12) + "=2GiB", {bytes(8_GiB), bytes(1_GiB), bytes(2_GiB)}},
           Case{"3GiB,pci:" + id[0].pci + "=1GiB", {bytes(1_GiB), bytes(3_GiB), bytes(3_GiB)}},
       }) {
    CAPTURE(test.budget);
    const Run run = host.run(program("console"), {}, {.budget = test.budget, .input = totals(3)});
    REQUIRE(run.exit_status == 0);
    CHECK(budgets(run) == test.expected);
  }
}

TEST_CASE("tables of a configuration file hold for their GPU, and its records carry its UUID and address") {
  Host host({"8GiB", "4GiB", "6GiB"});
  const std::vector<Identity> id = identities(host, 3);
  host.write_file("vramguard.toml", "schema = 1\nbudget = \"2GiB\"\n[gpu.\"" + id[1].uuid + "\"]\nbudget = \"1GiB\"\n");
  const Run run = host.run(program("console"), {}, {.input = totals(3)});
  CAPTURE(run.err);
  REQUIRE(run.exit_status == 0);
  CHECK(budgets(run) == std::vector<std::string>{bytes(2_GiB), bytes(1_GiB), bytes(2_GiB)});
  CHECK(run.log.one("start")["devices"] == "3");
  CHECK(run.log.one("start")["config"] == host.path("vramguard.toml"));
  const std::vector<Record> devices = run.log.all("device");
  REQUIRE(devices.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(devices[i]["dev"] == std::to_string(i));
    CHECK(devices[i]["uuid"] == id[i].uuid);
    CHECK(devices[i]["pci"] == id[i].pci);
  }
  CHECK(devices[1].number("total_bytes") == 4_GiB);
  CHECK(devices[1].number("budget_bytes") == 1_GiB);
}

TEST_CASE("CUDA_VISIBLE_DEVICES renumbers devices, and budgets by UUID follow the card") {
  Host host({"8GiB", "4GiB", "6GiB"});
  const std::vector<Identity> id = identities(host, 3);
  const std::string budget = id[0].uuid + "=1GiB," + id[1].uuid + "=2GiB," + id[2].uuid + "=3GiB";
  struct Case {
    std::string visible;
    std::vector<std::size_t> devices;
  };
  for (const Case& test : {Case{"0,1,2", {0, 1, 2}}, Case{"2,1", {2, 1}}, Case{"1", {1}}, Case{"1,-1,0", {1}},
                           Case{id[2].uuid + "," + id[0].uuid, {2, 0}}, Case{id[1].uuid.substr(0, 8), {1}}}) {
    CAPTURE(test.visible);
    const auto log_before = host.log().records().size();
    const Run run = host.run(program("console"), {},
                             {.budget = budget,
                              .env = {{"CUDA_VISIBLE_DEVICES", test.visible}},
                              .input = totals(static_cast<int>(test.devices.size()))});
    REQUIRE(run.exit_status == 0);
    CHECK(run.lines().at(1) == "count 0 " + std::to_string(test.devices.size()));
    std::vector<std::string> expected;
    for (const std::size_t device : test.devices) expected.push_back(bytes((device + 1) * 1_GiB));
    CHECK(budgets(run) == expected);
    std::vector<std::string> uuids, expected_uuids;
    for (std::size_t i = log_before; i < run.log.records().size(); ++i) {
      const Record& record = run.log.records()[i];
      if (record["ev"] == "device") uuids.push_back(record["uuid"]);
    }
    for (const std::size_t device : test.devices) expected_uuids.push_back(id[device].uuid);
    CHECK(uuids == expected_uuids);
  }
}

TEST_CASE("where no device is visible cuInit fails as without the library, and there is nothing to guard") {
  for (const std::string visible : {"", "0,0", "-1", "GPU-00000000"}) {
    CAPTURE(visible);
    Host host({"8GiB", "4GiB"});
    const Options plain{
        .env = {{"CUDA_VISIBLE_DEVICES", visible}}, .preload = false, .input = "init 0\ncount\ninit 0\n"};
    Options guarded = plain;
    guarded.preload = true;
    guarded.budget = "1GiB";
    const Run expected = host.run(program("console"), {}, plain);
    const Run run = host.run(program("console"), {}, guarded);
    REQUIRE(run.exit_status == 0);
    CHECK(run.lines() == expected.lines());
    CHECK(run.lines().at(0) != "init 0");
    CHECK(run.log.empty());
  }
}

TEST_CASE("memory is counted on the device of its context, wherever it is freed from") {
  Host host({"8GiB", "8GiB", "8GiB"});
  const Run run = host.run(program("console"), {},
                           {.budget = "cuda:0=1GiB,cuda:1=2GiB",
                            .input = "init 0\nretain 1\ninfo\nalloc_v2 1073741824\nretain 0\ninfo\n"
                                     "free 0\ninfo\nfill alloc_v2 33554432\nretain 1\ninfo\nfill alloc_v2 33554432\n"
                                     "retain 2\nfill alloc_v2 1073741824\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.one("start")["devices"] == "3");
  const std::vector<std::string> lines = run.lines();
  CHECK(lines.at(2) == "info 0 1602224128 2147483648");
  CHECK(lines.at(3) == "alloc_v2 0 0");
  CHECK(lines.at(5) == "info 0 528482304 1073741824");  // device 0 has not been touched
  CHECK(lines.at(6) == "free 0");                       // of device 1's memory, with device 0 current
  CHECK(lines.at(7) == lines.at(5));
  CHECK(lines.at(8) == "fill 2 15");
  CHECK(lines.at(10) == lines.at(2));
  CHECK(lines.at(11) == "fill 2 47");
  CHECK(lines.at(13) == "fill 2 7");  // no budget: the card's own limit
  const std::vector<Record> refused = run.log.all("oom_returned");
  REQUIRE(refused.size() == 3);
  CHECK(refused[0]["dev"] + refused[1]["dev"] + refused[2]["dev"] == "012");
  CHECK(refused[2]["scope"] == "device");
  CHECK_FALSE(refused[2].has("budget_bytes"));
}

TEST_CASE("a name that fits no device is told in the log, and the rest holds") {
  Host host({"8GiB", "4GiB"});
  const Run run = host.run(program("console"), {}, {.budget = "1GiB,GPU-99999999=2GiB", .input = totals(2)});
  REQUIRE(run.exit_status == 0);
  CHECK(budgets(run) == std::vector<std::string>{bytes(1_GiB), bytes(1_GiB)});
  CHECK(run.log.one("start")["devices"] == "2");
  CHECK(run.log.one("config_error")["lvl"] == "warn");
}
