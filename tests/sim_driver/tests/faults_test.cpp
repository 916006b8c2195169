#include <catch2/catch.hpp>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/context_fixture.h"

namespace {

template <class Work>
double milliseconds_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double milliseconds_of_free() {
  return milliseconds_of([] { cuMemFree_v2(0); });
}

}  // namespace

TEST_CASE("simctl makes the nth call from now fail, in whichever process it is") {
  simctl({"fail", "cuMemAlloc_v2", "3"});
  CHECK(output_of({"allocate", "2"}) == "0 0");
  CHECK(output_of({"allocate", "2"}) == "2 0");
  simctl({"fail", "cuMemAlloc_v2", "1", "719"});
  CHECK(output_of({"allocate", "2"}) == "719 0");
  simctl({"fail", "cuMemAlloc_v2", "1"});
  simctl({"reset"});
  CHECK(output_of({"allocate", "1"}) == "0");
}

TEST_CASE("the environment makes the nth call of one process fail") {
  CHECK(output_of({"allocate", "4"}, {{"VGSIM_FAIL", "cuMemAlloc_v2:3=999,cuMemAlloc_v2:4"}}) == "0 0 999 2");
  CHECK(output_of({"devices"}, {{"VGSIM_FAIL", "cuInit=803"}}) == "803");
}

TEST_CASE("a call can be made slow") {
  const InContext here;
  simctl({"delay", "cuMemFree_v2", "400"});
  CHECK(milliseconds_of_free() >= 400);
  simctl({"delay", "cuMemFree_v2", "0"});
  CHECK(milliseconds_of_free() < 400);
  CHECK(milliseconds_of([] { output_of({"allocate", "4"}, {{"VGSIM_DELAY", "cuMemAlloc_v2=100"}}); }) >= 400);
}

TEST_CASE("calls are counted over all processes") {
  simctl({"reset"});
  output_of({"allocate", "5"});
  output_of({"allocate", "2"});
  CHECK(simctl({"calls", "cuMemAlloc_v2"}) == "7");
  CHECK(simctl({"calls", "cuInit"}) == "2");
  Child unknown({SIMCTL, "calls", "cuNothing"}, {});
  CHECK(unknown.wait() == 1);
}

TEST_CASE("a missing symbol is not found by cuGetProcAddress") {
  CHECK(output_of({"look-up", "cuMemAllocManaged"}) == "0 1 0");
  CHECK(output_of({"look-up", "cuMemAllocManaged"}, {{"VGSIM_MISSING", "cuMemAllocManaged"}}) == "0 0 1");
}

TEST_CASE("the trace has a line for each call, and says what is not simulated") {
  const std::string file = scratch_file("trace");
  CHECK(output_of({"not-simulated"}, {{"VGSIM_TRACE", file}}) == "801");
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  CHECK(text.str().find("cuInit 0 ") == 0);
  CHECK(text.str().find("\ncuCtxCreate_v2 0 ") != std::string::npos);
  const std::size_t line = text.str().find("\ncuProfilerStart 801 ");
  REQUIRE(line != std::string::npos);
  CHECK(text.str().find(" not-simulated\n", line) != std::string::npos);
}
