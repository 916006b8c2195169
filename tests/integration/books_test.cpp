// The guard's books against the driver's.
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

TEST_CASE("after 20000 random calls of four threads on two devices the books equal the driver's to the byte") {
  Host host({"8GiB", "4GiB"});
  const Run run = host.run(program("books"), {}, {.budget = "1120MiB"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.one("start")["devices"] == "2");
  CHECK(run.log.all("device").at(1).number("budget_bytes") == 1120_MiB);
  unsigned admitted = 0, refused = 0;
  const std::string last = run.lines().back();
  REQUIRE(std::sscanf(last.c_str(), "admitted %u refused %u", &admitted, &refused) == 2);
  CHECK(admitted > 5000);
  CHECK(refused > 50);  // or the budget was never reached
  CHECK(run.log.all("guard_error").empty());
  CHECK(host.used_bytes(0) == 0);
}
