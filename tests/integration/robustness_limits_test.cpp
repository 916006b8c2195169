// Programs that live under limits, and that use signals.
#include "tests/integration/robustness.h"

using namespace vramguard::integration;

TEST_CASE("a program that waits for signals gets them: our threads take none") {
  Host host;
  const Run run = host.run(program("limits"), {"sigwait"}, {.budget = "2GiB"});
  CAPTURE(run.err);
  CHECK(run.signal == 0);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "threads 2, open to signals 0\nrefused 2, freed 0\n");
}

TEST_CASE("where no thread can be started the program is guarded and every record is written at once") {
  if (skipped_when_sanitized()) return;
  Host host;
  const Run run = host.run(program("limits"), {"no_threads"}, {.budget = "2GiB"});
  CAPTURE(run.err);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "refused 2, freed 0\n");
  CHECK(run.err.empty());
  for (const char* event : {"start", "device", "context", "oom_refused", "oom_returned"}) {
    CHECK(run.log.all(event).size() == 1);
  }
}

TEST_CASE("a limit on the size of files costs the log, not the program") {
  if (skipped_when_sanitized()) return;
  Host host;
  host.simctl({"used", "0"});  // makes the file that the simulated devices live in
  const Run run = host.run(program("limits"), {"file_size"}, {.budget = "2GiB"});
  CAPTURE(run.err);
  CHECK(run.signal == 0);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "refused 2, freed 0\n");  // a pipe has no size
}

TEST_CASE("a log that cannot be written costs the log, not the program") {
  for (const std::string path : {"/proc/no/such/folder/pressure.log", "/dev/full", "/", "/dev/null/log"}) {
    Host host;
    CAPTURE(path);
    const Run run = host.run(program("limits"), {"plain"}, {.budget = "2GiB", .env = {{"VRAMGUARD_LOG", path}}});
    CHECK(run.exit_status == 0);
    CHECK(run.out == "refused 2, freed 0\n");
    CHECK(run.err.empty());
  }
}
