// `vramguard run`, from the command to the refused request.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

#include <filesystem>

using namespace vramguard::integration;
using Catch::Matchers::Contains;

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

TEST_CASE("the programs of a pipeline share the budget of their run, and with --per-process each has its own") {
  if (sanitized()) return;  // the shell is not
  const auto second_gets = [](std::vector<std::string> options) {
    Host host;
    const std::string first = host.write_file("first", "init 0\nretain 0\nalloc alloc_v2 536870912\n");
    const std::string second = host.write_file("second", "init 0\nretain 0\nfill alloc_v2 33554432\n");
    const std::string console = program("console"), done = host.path("done");
    options.insert(options.begin(), {"-b", "2GiB"});
    options.insert(options.end(), {"sh", "-c",
                                   "mkfifo " + done + "; { cat " + first + "; read line < " + done + "; } | " +
                                       console + " | { while read -r line; do case \"$line\" in alloc*) " + console +
                                       " < " + second + "; echo > " + done + ";; esac; done; }"});
    const Run run = vramguard_run(host, options, "");
    CAPTURE(run.out, run.err);
    CHECK(run.err.empty());
    return run.lines().back();
  };
  CHECK(second_gets({"--per-process"}) == "fill 2 47");
  const std::string shared = second_gets({});
  REQUIRE(shared.substr(0, 7) == "fill 2 ");
  const int count = std::stoi(shared.substr(7));
  CHECK(count > 10);
  CHECK(count < 35);
}

TEST_CASE("run --require passes on the status of a guarded command, and tells of processes that are switched off") {
  Host host;
  Run run = vramguard_run(host, {"-b", "2GiB", "--require", program("console"), "dlsym"},
                          "init 0\nretain 0\nfill alloc_v2 33554432\nexit 42\n");
  CAPTURE(run.out, run.err);
  CHECK(run.exit_status == 42);
  CHECK(run.err.empty());
  CHECK(run.lines().back() == "fill 2 47");
  if (sanitized()) return;
  const auto required = [&](const std::string& environment, const std::string& seconds) {
    const std::string line = "(echo init 0; echo retain 0; sleep " + seconds + ") | env " + environment + " " +
                             program("console") + " > /dev/null; exit 3";
    return vramguard_run(host, {"--require", "sh", "-c", line}, "");
  };
  run = required("VRAMGUARD_QUIET=1", "2.2");
  CHECK(run.err.empty());
  CHECK(run.exit_status == 3);
  run = required("VRAMGUARD=0", "2.2");
  CHECK_THAT(run.err, Contains("(console) used a GPU unguarded: libvramguard.so is loaded in it and switched off"));
  CHECK(run.exit_status == 125);
  run = required("-u LD_PRELOAD", "0.7");
  CHECK_THAT(run.err, Contains("(console) used a GPU unguarded: libvramguard.so is not loaded in it"));
  CHECK(run.exit_status == 125);
}

TEST_CASE("a process that lost its environment is held by a file, and by nothing where the preload is gone, too") {
  if (sanitized()) return;
  Host host;
  std::filesystem::create_directories(host.path(".config/vramguard"));
  host.write_file(".config/vramguard/config.toml", "schema = 1\nbudget = \"3GiB\"\n");
  const auto in_lost_environment = [&](const std::string& kept) {
    const Run run = vramguard_run(host,
                                  {"-b", "2GiB", "sh", "-c",
                                   "exec env -i LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\" "
                                   "$(printenv | grep ^VGSIM) VRAMGUARD_LOG_TARGET=none "
                                   "VRAMGUARD_STATE_DIR=\"$VRAMGUARD_STATE_DIR\" " +
                                       kept + " " + program("console")},
                                  "init 0\ntotal 0\n");
    CAPTURE(run.out, run.err);
    return run.lines().back();
  };
  CHECK(in_lost_environment("LD_PRELOAD=\"$LD_PRELOAD\" HOME=" + host.path("")) == "total 0 3221225472");
  CHECK(in_lost_environment("LD_PRELOAD=\"$LD_PRELOAD\" HOME=/nowhere") == "total 0 8589934592");
  CHECK(in_lost_environment("HOME=" + host.path("")) == "total 0 8589934592");
}

TEST_CASE("a line after the command says what it took at most") {
  if (sanitized()) return;
  Host host;
  const std::string input = host.write_file("input", "init 0\nretain 0\nfill alloc_v2 33554432\n");
  for (const std::string option : {"", " --require"}) {
    const std::string line = "(cat " + input + "; sleep 0.6) | " + build_path("vramguard") + " run -b 2GiB" + option +
                             " -- " + program("console");
    const Run run = host.run("/usr/bin/script", {"-qec", line, "/dev/null"}, {.preload = false});
    CAPTURE(option, run.out, run.err);
    CHECK_THAT(run.out, Contains("vramguard: budget 2GiB per GPU for the command and its children"));
    CHECK_THAT(run.out, Contains("vramguard: peak "));
    CHECK_THAT(run.out, Contains(" of 2GiB, 1 refused, 0 rescued"));
  }
}
