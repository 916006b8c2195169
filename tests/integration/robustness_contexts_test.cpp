// Nothing is made on a device that the program did not ask for.
#include "tests/integration/robustness.h"

using namespace vramguard::integration;

TEST_CASE("before the program's own cuInit there is no call, no thread and no file of ours") {
  Host host;
  const Run run = host.run(program("contexts"), {"look"}, {.budget = "2GiB"});
  CHECK(run.exit_status == 0);
  CHECK(run.out == "threads 1\n");
  for (const char* function : {"cuInit", "cuDeviceGetCount", "cuDevicePrimaryCtxRetain", "cuCtxCreate_v2"}) {
    CHECK(host.calls(function) == 0);
  }
  CHECK(host.calls("cuDriverGetVersion") == 1);
  CHECK(run.log.empty());
}

TEST_CASE("the program can set the flags of its primary context after cuInit, as without us") {
  Host host;
  const Run run = host.run(program("contexts"), {"flags"}, {.budget = "2GiB"});
  CHECK(run.exit_status == 0);
  CHECK(run.out == "threads 1\nthreads 3\nactive 0, set 0, flags 4, active 1\n");
  CHECK(host.calls("cuInit") == 1);
  CHECK(host.calls("cuDevicePrimaryCtxRetain") == 1);
  CHECK(host.calls("cuCtxCreate_v2") == 0);
}

TEST_CASE("a child forked before cuInit is guarded by itself") {
  Host host;
  const Run run = host.run(program("contexts"), {"fork"}, {.budget = "2GiB"});
  CHECK(run.exit_status == 0);
  // "threads 1", "child PID 2", and "parent PID 0"; the child has the parent's first line in its buffer too.
  std::string child;
  for (const std::string& line : run.lines()) {
    if (line.rfind("child ", 0) == 0) child = line.substr(6, line.size() - 8);
  }
  CHECK(run.lines().back().find("parent ") == 0);
  CHECK(run.lines().back().substr(run.lines().back().size() - 2) == " 0");
  CHECK(run.log.one("start")["pid"] == child);
  CHECK(run.log.one("oom_returned")["pid"] == child);
  CHECK(run.log.one("exit")["pid"] == child);
}

TEST_CASE("of three devices only the one that the program uses has a context") {
  Host host({"8GiB", "8GiB", "8GiB"});
  const auto process = host.start(program("contexts"), {"middle"}, {.budget = "2GiB"});
  CHECK(process->read_line() == "threads 1");
  CHECK(process->read_line() == "threads 3");
  CHECK(process->read_line() == "refused 2");
  CHECK(host.used_bytes(0) == 0);
  CHECK(host.used_bytes(1) > 10_MiB);
  CHECK(host.used_bytes(2) == 0);
  CHECK(host.simctl({"processes", "0"}).empty());
  CHECK(host.simctl({"processes", "2"}).empty());
  CHECK(process->finish().exit_status == 0);
  CHECK(host.log().all("device").size() == 3);
  CHECK(host.log().one("oom_returned")["dev"] == "1");
}
