// What breaks elsewhere: memory that is freed into a pool is not free, and not lost either.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

TEST_CASE("what a pool keeps is given to who needs it, its settings stay, and no free is credited twice") {
  for (const std::string pool : {"default", "own", "current"}) {
    CAPTURE(pool);
    Host host;
    const Run run = host.run(program("pool_keeper"), {pool}, {.budget = "1544MiB"});
    CAPTURE(run.err);
    REQUIRE(run.exit_status == 0);
    std::vector<std::string> expected{"keep 0 0",          "take 0 800",   "free 0 800",        "again 1 800",
                                      "synchronize 0 800", "linear 0 800", "free linear 0 0",   "take 0 800",
                                      "free 0 800",        "again 1 800",  "synchronize 0 800", "trim 0 0",
                                      "threshold kept"};
    if (pool != "default") expected.emplace_back("destroy 0 0");
    CHECK(run.lines() == expected);
    CHECK(run.log.all("start").size() == 1);
    CHECK(run.log.all("oom_returned").empty());
  }
}
