// What the guard costs, counted in calls of the driver: a number that no loaded machine disturbs.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

// The driver's calls of a run of `script`, by name.
std::map<std::string, int> traced_calls(const std::string& script, const Options& options) {
  Host host;
  Options traced = options;
  traced.input = script;
  traced.env["VGSIM_TRACE"] = host.path("trace");
  const Run run = host.run(program("console"), {}, traced);
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.all("start").size() == (options.preload ? 1 : 0));
  std::map<std::string, int> calls;
  for (const std::string& line : vramguard::lines_of(host.path("trace"))) ++calls[line.substr(0, line.find(' '))];
  // The watchdog looks at NVML by the clock, not by what the program does.
  std::erase_if(calls, [](const auto& call) { return call.first.starts_with("nvmlDevice"); });
  return calls;
}

// What `more` costs beyond `less`, which it begins with.
std::map<std::string, int> cost(const std::string& less, const std::string& more, const Options& options) {
  std::map<std::string, int> calls = traced_calls(more, options);
  for (const auto& [name, count] : traced_calls(less, options)) {
    if ((calls[name] -= count) == 0) calls.erase(name);
  }
  return calls;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

using Calls = std::map<std::string, int>;

}  // namespace

TEST_CASE("an allocation and its free cost the program's own two calls and two questions for the context") {
  const std::string start = "init 0\nretain 0\nalloc_v2 4096\n";
  std::string pairs = start;
  for (int i = 1; i <= 50; ++i) pairs += "alloc_v2 3000000\nfree " + std::to_string(i) + "\n";
  CHECK(cost(start, pairs, {.preload = false}) == Calls{{"cuMemAlloc_v2", 50}, {"cuMemFree_v2", 50}});
  CHECK(cost(start, pairs, {.budget = "2GiB"}) ==
        Calls{{"cuMemAlloc_v2", 50}, {"cuMemFree_v2", 50}, {"cuCtxGetCurrent", 50}, {"cuCtxGetDevice", 50}});
}

TEST_CASE("cuMemGetInfo costs the program's own call and two questions for the context") {
  const std::string start = "init 0\nretain 0\ninfo\n";
  CHECK(cost(start, start + repeated("info\n", 50), {.budget = "2GiB"}) ==
        Calls{{"cuMemGetInfo_v2", 50}, {"cuCtxGetCurrent", 50}, {"cuCtxGetDevice", 50}});
}

TEST_CASE("calls that are not wrapped and frees of nothing cost nothing more") {
  const std::string start = "init 0\nretain 0\nalloc_v2 4096\n";
  const std::string calls = repeated("device\nset 0 100\nfree_at 0\ntotal 0\n", 50);
  CHECK(cost(start, start + calls, {.budget = "2GiB"}) == cost(start, start + calls, {.preload = false}));
}

TEST_CASE("before cuInit the driver is asked nothing, and never made to create a context") {
  const Calls plain = traced_calls("init 0\ncount\n", {.preload = false});
  Calls guarded = traced_calls("init 0\ncount\n", {.budget = "2GiB"});
  for (const std::string creates : {"cuCtxCreate_v2", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "nvmlInit_v2"}) {
    CHECK(guarded.count(creates) == 0);
  }
  CHECK(guarded["cuInit"] == 1);
  CHECK(traced_calls("count\n", {.preload = false}) == Calls{{"cuDeviceGetCount", 1}});
}
