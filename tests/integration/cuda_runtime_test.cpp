// The genuine CUDA runtime, where a toolkit is found: on the simulated driver it gets as far as "no device".
#include <iostream>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

#ifdef VRAMGUARD_HAS_CUDART

namespace {

std::map<std::string, int> trace_of(Host& host) {
  std::map<std::string, int> calls;
  for (const std::string& line : vramguard::lines_of(host.path("trace"))) ++calls[line.substr(0, line.find(' '))];
  return calls;
}

void check_runtime(const std::string& name) {
  Host plain_host, host;
  const Run plain =
      plain_host.run(program(name), {}, {.env = {{"VGSIM_TRACE", plain_host.path("trace")}}, .preload = false});
  const Run run = host.run(program(name), {}, {.budget = "2GiB", .env = {{"VGSIM_TRACE", host.path("trace")}}});
  CAPTURE(plain.out, plain.err, run.out, run.err);
  REQUIRE(plain.exit_status == 0);
  REQUIRE(run.exit_status == 0);
  CHECK(run.out == plain.out);
  CHECK(run.err == plain.err);
  std::map<std::string, int> expected = trace_of(plain_host), calls = trace_of(host);
  CHECK(calls["cuGetProcAddress_v2"] == expected["cuGetProcAddress_v2"]);
  CHECK(calls["cuGetProcAddress_v2"] > 300);
  CHECK(calls["cuInit"] == expected["cuInit"]);
  // The runtime took cuInit from cuGetProcAddress: a guard that started shows that the look-ups led to us.
  CHECK(run.log.one("start")["mode"] == "enforce");
  CHECK(run.log.one("device").number("budget_bytes") == 2_GiB);
  CHECK(run.log.all("unguarded_symbol").empty());
}

}  // namespace

TEST_CASE("all look-ups of the static CUDA runtime pass the library") { check_runtime("cudart_static"); }
TEST_CASE("all look-ups of the shared CUDA runtime pass the library") { check_runtime("cudart"); }

#else

TEST_CASE("all look-ups of the CUDA runtime pass the library") {
  std::cout << "skipped: there is no CUDA toolkit here, or this is a sanitizer build\n";
}

#endif
