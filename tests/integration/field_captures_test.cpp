// What breaks elsewhere: calls that the guard makes by itself, and that ruin what the program captures.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

TEST_CASE("no capture of any mode is ruined by trims, refusals, queries and looks at the device meanwhile") {
  for (const std::string mode : {"0", "1", "2"}) {  // global, of the thread, relaxed
    CAPTURE(mode);
    Host host;
    const auto process = host.start(program("capturing"), {mode}, {.budget = "2GiB"});
    CHECK(process->read_line() == "capturing");
    // The guard's own thread looks at the device meanwhile, too.
    const std::uint64_t looks = host.calls("nvmlDeviceGetMemoryInfo");
    while (host.calls("nvmlDeviceGetMemoryInfo") < looks + 2) {
    }
    process->write("\n");
    CHECK(process->read_line() == "end 0 graph launch 0 failures 0");
    CHECK(process->finish().exit_status == 0);
    CHECK(host.calls("cuMemPoolTrimTo") > 0);  // the program has no such call
    CHECK(host.log().one("exit").number("refused") == 5);
  }
}
