// What breaks elsewhere: memory calls at odd moments, inside the driver's callbacks and side by side.
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

#include "tests/integration/harness.h"

using namespace vramguard::integration;

TEST_CASE("memory is freed and refused inside host functions, stream callbacks and graph nodes as elsewhere") {
  Host host;
  const Run run = host.run(program("callbacks"), {}, {.budget = "2GiB", .env = {{"VRAMGUARD_MANAGED", "count"}}});
  CAPTURE(run.err);
  REQUIRE(run.exit_status == 0);
  std::vector<std::string> expected;
  for (const std::string where : {"function", "callback", "node"}) {
    expected.insert(expected.end(), {where + ": 0 0 0 0 2 1", "inside same", "0", "after same"});
  }
  CHECK(run.lines() == expected);
  CHECK(run.log.one("exit").number("refused") == 3);
  CHECK(run.log.all("guard_error").empty());
}

TEST_CASE("a free that the driver forbids inside a callback keeps the memory in the books") {
  const std::string forbidden = "cuMemFree_v2:1=800,cuMemFreeAsync:1=800,cuMemRelease:1=800";
  Host host;
  const Run run = host.run(program("callbacks"), {}, {.budget = "4GiB", .env = {{"VGSIM_FAIL", forbidden}}});
  CAPTURE(run.err);
  REQUIRE(run.exit_status == 0);
  const std::vector<std::string> lines = run.lines();
  CHECK(lines.at(0) == "function: 800 800 800 0 2 1");
  CHECK(lines.at(4) == "callback: 0 0 0 0 2 1");
  for (const std::string& line : lines) CHECK(line.find("different") == std::string::npos);
}

TEST_CASE("threads that are refused at once get a refusal and a record each, and the books stay right") {
  for (const int threads : {2, 8}) {
    CAPTURE(threads);
    constexpr int kRounds = 4;  // few enough that the log holds nothing back
    const auto refusals = static_cast<std::size_t>(threads * kRounds);
    Host host;
    const Run run = host.run(program("refused_together"), {std::to_string(threads), std::to_string(kRounds)},
                             {.budget = "2GiB", .env = {{"VGSIM_DELAY", "cuMemPoolTrimTo=1"}}});
    CAPTURE(run.err);
    REQUIRE(run.exit_status == 0);
    CHECK(run.out == std::to_string(refusals) + " 0 0 same\n");
    std::map<std::string, int> by_thread;
    for (const Record& record : run.log.all("oom_returned")) ++by_thread[record["tid"]];
    CHECK(by_thread.size() == static_cast<std::size_t>(threads));
    for (const auto& [thread, count] : by_thread) CHECK(count == kRounds);
    CHECK(run.log.all("oom_refused").size() == refusals);
    CHECK(run.log.one("exit").number("refused") == refusals);
  }
}

TEST_CASE("a pool that is destroyed while another thread's refusal trims it is never touched after its end") {
  Host host;
  const std::string trace = host.path("trace");
  const Run run = host.run(program("pool_ends"), {"60"},
                           {.budget = "2GiB", .env = {{"VGSIM_TRACE", trace}, {"VGSIM_DELAY", "cuMemPoolTrimTo=5"}}});
  CAPTURE(run.err);
  REQUIRE(run.exit_status == 0);
  CHECK(run.out.find(" same\n") != std::string::npos);
  std::istringstream calls(vramguard::content_of(trace));
  int trims = 0, dead = 0;
  for (std::string line; std::getline(calls, line);) {
    std::istringstream words(line);
    std::string name, code;
    words >> name >> code;
    if (name == "cuMemPoolTrimTo") ++trims;
    if (name.rfind("cuMemPool", 0) == 0 && code != "0") ++dead;  // the simulator knows a pool that has ended
  }
  CHECK(trims > 20);
  CHECK(dead == 0);
}
