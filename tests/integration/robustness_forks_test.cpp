// Children of a busy process.
#include "tests/integration/robustness.h"

using namespace vramguard::integration;

TEST_CASE("children of a process with 16 busy threads all end soon, and the process does not notice them") {
  if (skipped_when_sanitized()) return;
  Host host;
  const Run run = host.run(program("forks"), {"300"}, {.budget = "2GiB"});
  CAPTURE(run.err);
  REQUIRE(run.exit_status == 0);
  const std::vector<std::string> lines = run.lines();
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == "well 300 wrong 0 stuck 0");
  CHECK(lines[2] == "parent 0 2");
  CHECK(run.err.empty());

  // One log, the parent's: no record of a child, none torn, none missing that is not told.
  const std::string pid = lines[0].substr(4);
  std::uint64_t last = 0;
  for (const Record& record : run.log.records()) {
    CHECK(record["pid"] == pid);
    CHECK(record.number("seq") > last);
    last = record.number("seq");
  }
  const Record exit = run.log.one("exit");
  CHECK(run.log.records().back()["ev"] == "exit");
  CHECK(last - run.log.records().size() <= exit.number("log_dropped"));
  CHECK(exit.number("refused") > 16);
  CHECK(host.used_bytes(0) == 0);
}
