// What breaks elsewhere: memory that passes no allocation call, and breaks the cap.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

TEST_CASE("contexts, modules and stacks count: the driver's total of a process that fills up is its budget") {
  struct Case {
    std::string modules, stack;
  };
  for (const Case& test : {Case{"0", "1024"}, Case{"3", "1024"}, Case{"2", "2048"}}) {
    CAPTURE(test.modules, test.stack);
    Host host;
    const Run run =
        host.run(program("loads"), {test.modules, test.stack}, {.budget = "1GiB", .env = {{"VGSIM_MODULE", "80MiB"}}});
    CAPTURE(run.err);
    REQUIRE(run.exit_status == 0);
    CHECK(run.out == std::to_string(1_GiB) + " 2\n");
    const Record refused = run.log.one("oom_returned");
    CHECK(refused.number("used_bytes") == 1_GiB);
    const std::uint64_t stack = (std::stoull(test.stack) - 1024) * 264_KiB;
    CHECK(refused.number("context_bytes") == 520_MiB + std::stoull(test.modules) * 80_MiB + stack);
    CHECK(refused.number("context_bytes") + refused.number("linear_bytes") == 1_GiB);
  }
}
