// `mode = "observe"`: a program runs as without us, and the log says what a budget would have meant.
#include "tests/integration/short_memory.h"

using namespace vramguard::integration;

TEST_CASE("an observed program is refused nothing and sees the card; what would be refused is in the log") {
  Host host({"8GiB"});
  ShortMemory program(host, {.budget = "2GiB",
                             .env = {{"VRAMGUARD_MODE", "observe"},
                                     {"VRAMGUARD_SENTINEL", "512MiB"},
                                     {"VRAMGUARD_SENTINEL_REQUIRED", "true"},
                                     {"VRAMGUARD_POLICY", "wait-and-retry"}}});
  CHECK(host.used_bytes(0) == kContextBytes);
  CHECK(program.ask("info") == "0 7672 8192");
  CHECK(program.ask("linear 1528") == "0 0");
  CHECK(program.ask("linear 100") == "0 1");
  CHECK(program.ask("create 200") == "0 2");
  CHECK(program.ask("async 300") == "0 3");
  CHECK(program.ask("pitch 1048576 100") == "0 4 1048576");
  CHECK(program.ask("linear 9000") == "2");  // the driver's own word
  program.finish();
  const Log log = host.log();
  CHECK(log.one("start")["mode"] == "observe");
  std::size_t observed = 0;
  for (const Record& record : log.all("oom_refused")) observed += record["observed"] == "1";
  CHECK(observed == 5);
  CHECK(log.all("oom_refused").at(0).number("short_bytes") == 100_MiB);
  CHECK(log.all("oom_recovered").empty());
  CHECK(log.one("oom_returned")["scope"] == "device");
  CHECK(log.all("sentinel").empty());
}
