// The simplest of all: one program, one budget.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

TEST_CASE("an unmodified program is held to its budget, and without the preload it is not") {
  Host host;
  const std::string fill = "init 0\nretain 0\nfill alloc_v2 33554432\n";
  const Run guarded = host.run(program("console"), {}, {.budget = "2GiB", .input = fill});
  REQUIRE(guarded.exit_status == 0);
  CHECK(guarded.log.one("start")["mode"] == "enforce");
  CHECK(guarded.log.one("device").number("budget_bytes") == 2_GiB);
  // 520 MiB are the context's; 47 requests of 32 MiB fit beside it, and a 48th would not.
  CHECK(guarded.lines().back() == "fill 2 47");

  const Run free = Host().run(program("console"), {}, {.preload = false, .input = fill});
  REQUIRE(free.exit_status == 0);
  CHECK(free.log.empty());
  CHECK(free.lines().back() == "fill 2 239");
}
