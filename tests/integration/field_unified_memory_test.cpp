// What breaks elsewhere: devices that share the memory of the host, where NVML tells nothing and "free" is what the
// host has free just now.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

// Until the guard has looked at the card anew.
void wait_for_a_look(Host& host) {
  const std::uint64_t before = host.calls("nvmlDeviceGetMemoryInfo");
  while (host.calls("nvmlDeviceGetMemoryInfo") == before) {
  }
}

}  // namespace

TEST_CASE("where NVML supports no memory query, the budget holds by the books and the code passes through") {
  constexpr std::uint64_t kEstimate = 600_MiB;  // of a context that nobody measures
  Host host({"64GiB"});
  const auto process = host.start(program("views"), {}, {.budget = "2GiB", .env = {{"VGSIM_INTEGRATED", "1"}}});
  process->write("look\n");
  const std::string cuda = process->read_line(), nvml = process->read_line();
  CHECK(process->read_line() == "end");
  const std::string total = std::to_string(2_GiB), free = std::to_string(2_GiB - kEstimate);
  CHECK(cuda.find(" " + total + " " + free + " " + total + " ") != std::string::npos);
  CHECK(nvml.substr(nvml.rfind("GPU-") + 41) == "3 7 7 7 3 7 7 7");
  process->write("fill 0 32\n");
  CHECK(process->read_line() == "fill 2 45");
  process->finish();
  const Log log = host.log();
  CHECK(log.one("oom_returned")["scope"] == "budget");
  CHECK(log.one("context")["source"] == "estimate");
  CHECK(log.one("exit").number("refused") == 1);
}

TEST_CASE("the host's free memory, which comes and goes with its page cache, is no pressure on a shared device") {
  Host host({"64GiB"});
  const auto process = host.start(program("views"), {}, {.budget = "8GiB", .env = {{"VGSIM_INTEGRATED", "1"}}});
  for (const std::string page_cache : {"30GiB", "63GiB", "0"}) {
    host.simctl({"neighbour", "0", page_cache});
    wait_for_a_look(host);
  }
  CHECK(host.log().all("pressure").empty());
  process->write("fill 0 1024\n");
  CHECK(process->read_line() == "fill 2 7");
  process->finish();
  const std::vector<Record> changes = host.log().all("pressure");
  CHECK_FALSE(changes.empty());
  for (const Record& change : changes) {
    CHECK(change["scope"] == "budget");
    CHECK_FALSE(change.has("device_free_bytes"));  // NVML does not tell
  }
}
