// Programs that know of vramguard: the C API, from C and from Python, with the library and without.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

std::string said(Host& host, const std::string& what, const Options& options = {.budget = "2GiB"}) {
  const Run run = host.run(program("knows_us"), {what}, options);
  CAPTURE(what, run.out, run.err);
  REQUIRE(run.exit_status == 0);
  return run.out;
}

}  // namespace

TEST_CASE("a program that uses the C API runs without the library, and with it switched off") {
  Host host;
  CHECK(said(host, "off", {.preload = false}) == "without 2\n");
  CHECK(said(host, "off", {.budget = "2GiB", .env = {{"VRAMGUARD", "0"}}}) == "off " VRAMGUARD_VERSION " -1\n");
}

TEST_CASE("callbacks of the program free memory inside the refused call, by priority, and nested refusals run none") {
  Host host;
  CHECK(said(host, "hooks") == "hooks 0 1 1 2\n");
  const Log log = host.log();
  CHECK(log.all("oom_recovered").size() >= 1);
  CHECK(log.all("oom_recovered").front()["by"] == "hook");
  const std::vector<Record> ends = log.all("hook_end");
  REQUIRE(ends.size() >= 2);
  CHECK(ends.at(0)["hook"] == "boast");
  CHECK(ends.at(0).number("freed_bytes") == 0);
  CHECK(ends.at(1)["hook"] == "free-one");
  CHECK(ends.at(1).number("freed_bytes") == 64_MiB);
}

TEST_CASE("the C API tells the numbers of the books, and a budget set by it holds for the next request") {
  Host host;
  CHECK(said(host, "statistics") == "statistics 1 " + std::to_string(2_GiB) + " " + std::to_string(620_MiB) +
                                        " 1\nbudget " + std::to_string(1_GiB) + " refused_above 2 fits_below 0\n");
  CHECK(host.log().one("budget").number("new_bytes") == 1_GiB);
}

TEST_CASE("the program's checkpoint is called once, in the refused call, before it is told") {
  Host host;
  CHECK(said(host, "checkpoint") == "checkpoint 2 2 256\n");
  CHECK(host.log().one("checkpoint")["by"] == "callback");
}

TEST_CASE("pressure listeners of the C API hear published changes") {
  Host host;
  CHECK(said(host, "listener") == "listener heard\n");
}

TEST_CASE("the program can let its reservation go for good") {
  Host host;
  CHECK(said(host, "reservation", {.budget = "2GiB", .env = {{"VRAMGUARD_SENTINEL", "256MiB"}}}) ==
        "reservation 1 256 0 0\n");
  CHECK(said(host, "reservation") == "reservation 0 0 0 0\n");
}

TEST_CASE("registered hooks are told apart by function and context, can fail, and run for their device alone") {
  Host host({"8GiB", "8GiB"});
  CHECK(said(host, "registered") == "registered 0 2 0 1\n");
  const std::vector<Record> ends = host.log().all("hook_end");
  REQUIRE(ends.size() == 3);
  CHECK(ends.at(0)["outcome"] == "failed");
  CHECK(ends.at(1)["outcome"] == "ok");
}

TEST_CASE("a policy of one device comes with its timeout and limit, and a checkpoint is removed by who set it") {
  Host host;
  CHECK(said(host, "policy") == "policy\n");
}

TEST_CASE("the program can hold a sentinel of its own, and another one after that") {
  Host host;
  CHECK(said(host, "reserve") == "reserve 256 100 100 100 64\n");
  Host capped;
  const std::string all = said(capped, "reserve", {.budget = "2GiB", .env = {{"VRAMGUARD_SENTINEL", "all"}}});
  // All that the context has left, or as much as lies in whole chunks until the rest is taken, too.
  CAPTURE(all);
  CHECK((all.starts_with("reserve 1528 ") || all.starts_with("reserve 1408 ")));
}

TEST_CASE("the Python module of the examples does the same over the C API, and nothing without the library") {
  if (sanitized()) return;
  Host host;
  const std::string source = VRAMGUARD_SOURCE_DIR;
  const auto run = [&](const Options& options) {
    const Run done = host.run("/usr/bin/python3",
                              {source + "/tests/integration/programs/knows_us.py", source + "/docs/examples"}, options);
    CAPTURE(done.out, done.err);
    REQUIRE(done.exit_status == 0);
    return done.out;
  };
  CHECK(run({.budget = "1GiB"}) == "python [67108864, 67108864, 67108864, 'saved'] 4 3 True 0\n");
  CHECK(run({.preload = false}) == "python without False 0\n");
}
