// Whose memory is short: the program's budget, the card that others fill, or the worse of the two.
#include "tests/integration/hook_harness.h"

using namespace vramguard::integration;
using vramguard::content_of;

namespace {

std::string scope(const std::string& name, const std::string& more = "") {
  return "[pressure]\nscope = \"" + name + "\"\n" + more;
}

}  // namespace

TEST_CASE("by the card, a neighbour that fills it is pressure, and its hooks run; without a budget too") {
  for (const std::string budget : {"", "2GiB"}) {
    CAPTURE(budget);
    Host host;
    const std::string told = host.path("told");
    configure(host, scope("device") +
                        hook("h", "pressure",
                             "at = \"high\"\n" + shell("echo $VRAMGUARD_HOOK_SCOPE $VRAMGUARD_HOOK_BUDGET_BYTES "
                                                       "$VRAMGUARD_HOOK_FREE_BYTES > " +
                                                       told)));
    Console console(host, {.budget = budget});
    REQUIRE(console.allocate(256_MiB) == "0");
    host.simctl({"neighbour", "0", "7GiB"});  // 248 MiB are left
    const Record rises = records(host, "pressure", 1).at(0);
    CHECK(rises["to"] == "high");
    CHECK(rises["scope"] == "device");
    CHECK(rises.number("free_bytes") == 248_MiB);
    CHECK(rises.number("used_bytes") == 8_GiB - 248_MiB);
    CHECK(rises.number("budget_bytes") == 8_GiB);
    CHECK(rises.number("device_free_bytes") == 248_MiB);
    records(host, "hook_end", 1);
    const std::string limit = budget.empty() ? "" : std::to_string(2_GiB) + " ";
    CHECK(content_of(told) == "device " + limit + std::to_string(248_MiB) + "\n");
    host.simctl({"neighbour", "0", "0"});
    const Record falls = records(host, "pressure", 2).at(1);  // 2 s later
    CHECK(falls["from"] == "high");
    CHECK(falls["to"] == "none");
    CHECK(console->finish().exit_status == 0);
  }
}

TEST_CASE("a hook of the card's pressure that sends the neighbour away is seen to have freed what it did") {
  Host host;
  configure(host, scope("device") + hook("h", "pressure",
                                         "at = \"high\"\n" + shell(simctl_line("neighbour 0 1GiB") + "; sleep 0.6")));
  Console console(host);
  host.simctl({"neighbour", "0", "7400MiB"});
  const Record end = records(host, "hook_end", 1).at(0);
  CHECK(end["outcome"] == "ok");
  CHECK(end.number("freed_bytes") == 7400_MiB - 1_GiB);
  console->finish();
}

TEST_CASE("of both the worse one counts, and the record says which it was") {
  Host host;
  configure(host, scope("worst"));
  Console console(host, {.budget = "2GiB"});
  REQUIRE(console.allocate(kIntoHigh) == "0");
  const Record own = records(host, "pressure", 1).at(0);
  CHECK(own["to"] == "high");
  CHECK(own["scope"] == "budget");
  CHECK(own.number("budget_bytes") == 2_GiB);
  host.simctl({"neighbour", "0", "all"});
  const Record worse = records(host, "pressure", 2).at(1);
  CHECK(worse["from"] == "high");
  CHECK(worse["to"] == "critical");
  CHECK(worse["scope"] == "device");
  CHECK(worse.number("free_bytes") == 0);
  CHECK(worse.number("budget_bytes") == 8_GiB);
  host.simctl({"neighbour", "0", "0"});
  const Record better = records(host, "pressure", 3).at(2);
  CHECK(better["from"] == "critical");
  CHECK(better["to"] == "high");
  CHECK(better["scope"] == "budget");
  CHECK(better.number("free_bytes") == 78_MiB);
  console->finish();
}

TEST_CASE("a card that is not watched makes no pressure, and is not asked about") {
  for (const std::string by : {"device", "worst"}) {
    CAPTURE(by);
    Host host;
    configure(host, scope(by, "watch_card = false\n"));
    Console console(host, {.budget = "2GiB"});
    host.simctl({"neighbour", "0", "7400MiB"});
    const std::uint64_t looks = host.calls("nvmlDeviceGetComputeRunningProcesses_v3");
    CHECK(happens([&] { return host.calls("nvmlDeviceGetComputeRunningProcesses_v3") >= looks + 3; }));
    CHECK(host.calls("nvmlDeviceGetMemoryInfo") + host.calls("nvmlDeviceGetMemoryInfo_v2") == 0);
    CHECK(host.log().all("pressure").empty());
    // The budget's own pressure is that of `worst` all the same.
    host.simctl({"neighbour", "0", "0"});
    REQUIRE(console.allocate(kIntoHigh) == "0");
    console->finish();
    CHECK(host.log().all("pressure").size() == (by == "worst" ? 1 : 0));
    for (const Record& record : host.log().all("pressure")) CHECK_FALSE(record.has("device_free_bytes"));
  }
}

TEST_CASE("without a budget, and by the budget, there is no pressure however full the card is") {
  Host host;
  configure(host, hook("h", "pressure", "at = \"low\"\n" + shell("true")));
  Console console(host);
  host.simctl({"neighbour", "0", "all"});
  const std::uint64_t looks = host.calls("nvmlDeviceGetMemoryInfo");
  CHECK(happens([&] { return host.calls("nvmlDeviceGetMemoryInfo") >= looks + 3; }));
  CHECK(console.allocate(1_GiB) == "2");  // the card's own refusal
  records(host, "oom_returned", 1);
  console->finish();
  CHECK(host.log().all("pressure").empty());
  CHECK(host.log().all("hook_start").empty());
}

TEST_CASE("where NVML no longer answers, calls, pressure, hooks, the log and the program's end go on") {
  Host host;
  configure(host, hook("h", "pressure", "at = \"high\"\n" + shell("true")) + hook("o", "oom-returned", shell("true")));
  Console console(host, {.budget = "2GiB"});
  for (const char* function :
       {"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses"})
    host.simctl({"delay", function, "3600000"});
  const std::uint64_t looks = host.calls("nvmlDeviceGetMemoryInfo");
  CHECK(happens([&] { return host.calls("nvmlDeviceGetMemoryInfo") > looks; }));  // the watchdog hangs from here on
  const auto began = std::chrono::steady_clock::now();
  REQUIRE(console.allocate(kIntoHigh) == "0");
  CHECK(records(host, "hook_end", 1).at(0)["outcome"] == "ok");
  CHECK(console.allocate(1600_MiB) == "2");
  CHECK(records(host, "hook_end", 2).at(1)["hook"] == "o");
  CHECK(console.ask("free 0") == "free 0");
  const Run run = console->finish();
  CHECK(run.exit_status == 0);
  CHECK(host.log().records().back()["ev"] == "exit");
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
}
