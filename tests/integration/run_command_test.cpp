// `vramguard run`, from the command to the refused request.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

Run vramguard_run(Host& host, std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(), "run");
  return host.run(build_path("vramguard"), arguments, {.preload = false, .input = input});
}

}  // namespace

TEST_CASE("vramguard run holds the command to the budget and passes its exit status on") {
  Host host;
  const Run run = vramguard_run(host, {"-b", "2GiB", "--", program("console"), "dlsym"},
                                "init 0\nretain 0\ntotal 0\nfill alloc_v2 33554432\nexit 42\n");
  CAPTURE(run.out, run.err);
  CHECK(run.exit_status == 42);
  CHECK(run.err.empty());
  CHECK(run.lines().at(2) == "total 0 2147483648");
  CHECK(run.lines().back() == "fill 2 47");
  CHECK(run.log.one("start")["mode"] == "enforce");
  CHECK(run.log.one("device").number("budget_bytes") == 2_GiB);
  CHECK(run.log.one("exit")["comm"] == "console");
}

TEST_CASE("vramguard run --device and --log hold for the command") {
  Host host({"8GiB", "8GiB"});
  const Run run = vramguard_run(
      host, {"-b", "4GiB", "--device", "cuda:1=2GiB", "--log", host.path("other.log"), program("console"), "proc_v2"},
      "init 0\ntotal 0\ntotal 1\nretain 1\nfill alloc_v2 33554432\n");
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_status == 0);
  CHECK(run.lines().at(1) == "total 0 4294967296");
  CHECK(run.lines().at(2) == "total 0 2147483648");
  CHECK(run.lines().back() == "fill 2 47");
  CHECK(run.log.empty());
  const Log log = Log::parse(vramguard::content_of(host.path("other.log")));
  CHECK(log.one("start")["devices"] == "2");
  CHECK(log.one("oom_returned")["dev"] == "1");
}

TEST_CASE("the budget reaches the children of the command") {
  Host host;
  const Run run = vramguard_run(host, {"-b", "2GiB", "/bin/sh", "-c", program("console") + "; exit 7"},
                                "init 0\nretain 0\nfill alloc_v2 33554432\n");
  if (sanitized()) return;  // the shell is not
  CHECK(run.exit_status == 7);
  CHECK(run.lines().back() == "fill 2 47");
  CHECK(run.log.one("start")["comm"] == "console");
}
