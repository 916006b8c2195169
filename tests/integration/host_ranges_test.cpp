// Managed memory that is kept on the host: what would move it to the device is swallowed, everything else passes, from
// its allocation to the moment that its free enters the driver.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

// A program with two managed allocations of 16 MiB, of which the budget has room for one beside the context: slot 0
// fits, slot 1 is kept on the host.
class Program {
 public:
  explicit Program(Host& host, const std::map<std::string, std::string>& env = {})
      : host_(host), process_(host.start(program("kinds"), {}, {.budget = "544MiB", .env = env})) {
    for (const char* command : {"init", "device 0", "managed 16777216", "managed 16777216"}) ask(command);
    CHECK(ask("touch 0 16777216") == "0");
    used_ = host.used_bytes(0);
  }
  // The answer, without the command.
  std::string ask(const std::string& command) {
    process_->write(command + "\n");
    const std::string line = process_->read_line();
    return line.substr(line.find(' ') + 1);
  }
  // How often the driver was called for this.
  std::uint64_t calls(const std::string& function, const std::string& command, const std::string& answer) {
    const std::uint64_t before = host_.calls(function) + host_.calls(function + "_v2");
    CHECK(ask(command) == answer);
    return host_.calls(function) + host_.calls(function + "_v2") - before;
  }
  // Whether the device still holds as much as in the beginning, after it has touched the memory on the host.
  bool stays_on_host() {
    CHECK(ask("touch 1 16777216") == "0");
    return host_.used_bytes(0) == used_;
  }

 private:
  Host& host_;
  std::unique_ptr<Process> process_;
  std::uint64_t used_ = 0;
};

}  // namespace

TEST_CASE("advice that would move memory from the host to the device never reaches the driver") {
  Host host;
  Program program(host);
  for (const char* advice : {"1", "3", "4"}) {  // read-mostly, another preferred place, none
    CAPTURE(advice);
    CHECK(program.calls("cuMemAdvise", std::string("advise 1 16777216 ") + advice, "0 0") == 0);
    CHECK(program.calls("cuMemAdvise", std::string("advise 1 4096 ") + advice, "0 0") == 0);
    CHECK(program.stays_on_host());
  }
}

TEST_CASE("advice that moves nothing reaches the driver, and so does all advice for memory that fits") {
  Host host;
  Program program(host);
  for (const char* advice : {"2", "5", "6"}) {  // no more read-mostly, accessed by the device, no more
    CAPTURE(advice);
    CHECK(program.calls("cuMemAdvise", std::string("advise 1 16777216 ") + advice, "0 0") == 2);
    CHECK(program.stays_on_host());
  }
  for (const char* advice : {"1", "2", "3", "4", "5", "6"}) {
    CHECK(program.calls("cuMemAdvise", std::string("advise 0 16777216 ") + advice, "0 0") == 2);
  }
}

TEST_CASE("prefetches to the device skip memory that is kept on the host, one by one and in batches") {
  Host host;
  Program program(host);
  CHECK(program.calls("cuMemPrefetchAsync", "prefetch 1 16777216 0", "0 0") == 0);
  CHECK(program.calls("cuMemPrefetchAsync", "prefetch 1 16777216 -1", "0 0") == 2);
  CHECK(program.calls("cuMemPrefetchAsync", "prefetch 0 16777216 0", "0 0") == 2);
  CHECK(program.stays_on_host());
  // The simulated driver has no batches: it says so wherever something is left of one.
  CHECK(program.ask("prefetch_batch 1 16777216 1") == "0 0");
  CHECK(program.ask("prefetch_batch 0 16777216 1") == program.ask("prefetch_batch 0 16777216 0"));
  CHECK(program.ask("prefetch_batch 0 16777216 1") != "0 0");
}

TEST_CASE("memory whose free the driver refuses stays on the host") {
  Host host;
  Program program(host, {{"VGSIM_FAIL", "cuMemFree_v2=400"}});
  CHECK(program.ask("free 1") == "400");
  CHECK(program.calls("cuMemPrefetchAsync", "prefetch 1 16777216 0", "0 0") == 0);
  CHECK(program.calls("cuMemAdvise", "advise 1 16777216 1", "0 0") == 0);
  CHECK(program.stays_on_host());
  CHECK(program.ask("free 1") == "0");
  CHECK(program.calls("cuMemPrefetchAsync", "prefetch 1 16777216 0", "1 1") == 2);
}

TEST_CASE("from the moment that a free enters the driver its addresses may be another's, and nothing is swallowed") {
  Host host;
  Program program(host, {{"VGSIM_DELAY", "cuMemFree_v2=2000"}});
  CHECK(program.ask("free_beside 1") == "0");
  while (host.calls("cuMemFree_v2") == 0) {
  }
  CHECK(program.calls("cuMemPrefetchAsync", "prefetch 1 16777216 0", "0 0") == 2);
}
