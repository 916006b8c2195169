// What breaks elsewhere: answers that have nothing to do with the budget, and are changed all the same.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

TEST_CASE("NVML, peers and attributes of pointers are answered exactly as without the library, on and off") {
  const Run plain = Host({"8GiB", "4GiB"}).run(program("tool_calls"), {}, {.preload = false});
  CAPTURE(plain.err);
  REQUIRE(plain.exit_status == 0);
  REQUIRE(plain.lines().size() > 80);
  for (const std::string on : {"1", "0"}) {
    CAPTURE(on);
    const Run run =
        Host({"8GiB", "4GiB"}).run(program("tool_calls"), {}, {.budget = "2GiB", .env = {{"VRAMGUARD", on}}});
    CHECK(run.exit_status == 0);
    CHECK(run.log.all("start").size() == (on == "1" ? 1 : 0));
    CHECK(run.lines() == plain.lines());
    CHECK(run.err == plain.err);
  }
}
