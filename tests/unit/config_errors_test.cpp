#include "config/load_config.h"

#include "tests/unit/config_fixture.h"

#include <catch2/catch.hpp>

#include <unistd.h>

using namespace vramguard;
using Lines = std::vector<std::string>;

TEST_CASE("unknown keys and tables name their place and the nearest right one") {
  ConfigFixture fixture;
  CHECK(fixture.messages_for("bugdet = \"8GiB\"\nzzz = 1\nlevel = \"info\"\n[presure]\nlow = \"1%\"\n[log]\nlevl = "
                             "\"info\"\nwatch_card = true\n") ==
        Lines{"config.toml:2:1: error: unknown key 'bugdet'; did you mean 'budget'?",
              "config.toml:3:1: error: unknown key 'zzz'",
              "config.toml:4:1: error: unknown key 'level'; did you mean 'level' in [log]?",
              "config.toml:5:2: error: unknown table [presure]; did you mean [pressure]?",
              "config.toml:8:1: error: unknown key 'levl' in [log]; did you mean 'level'?",
              "config.toml:9:1: error: unknown key 'watch_card' in [log]; did you mean 'watch_card' in [pressure]?"});
  CHECK(fixture.messages_for("[pressure]\nmediun = \"10%\"\n") ==
        Lines{"config.toml:3:1: error: unknown key 'mediun' in [pressure]; did you mean 'medium'?"});
  CHECK(fixture.load().diagnostics.at(0).suggestion == "pressure.medium");
  CHECK(fixture.load().diagnostics.at(0).place.column == 1);
}

TEST_CASE("wrong types say what the key takes") {
  ConfigFixture fixture;
  CHECK(
      fixture.messages_for(
          "budget = 1.5\nvirtualize = true\nsentinel_required = \"false\"\npressure = \"10%\"\ngpu = 1\nhook = 1\n"
          "[log]\nlevel = 3\nreport_every = 5\npath = []\n") ==
      Lines{
          "config.toml:2:10: error: budget takes a size in quotes, such as \"8GiB\", not a decimal number",
          "config.toml:3:14: error: virtualize takes one of \"all\", \"cuda\", \"none\", not true or false",
          "config.toml:4:21: error: sentinel_required takes true or false, without quotes, not a text",
          "config.toml:5:1: error: 'pressure' is a table; write [pressure]",
          "config.toml:6:1: error: 'gpu' holds tables; write [gpu.\"cuda:0\"]",
          "config.toml:7:1: error: hooks are a list of tables; write [[hook]]",
          "config.toml:9:9: error: log.level takes one of \"error\", \"warn\", \"info\", \"debug\", not a whole number",
          "config.toml:10:16: error: log.report_every takes a duration in quotes, such as \"10s\", not a whole number",
          "config.toml:11:8: error: log.path takes a text in quotes, not a list"});
}

TEST_CASE("bad sizes, choices, durations and GPU names are errors with a hint, however they are written") {
  ConfigFixture fixture;
  CHECK(
      fixture.messages_for(
          "budget = 20\nvirtualize = \"cud\"\n[gpu.0]\nbudget = \"1GiB\"\n[gpu.\"cuda:0\"]\nbudget = \"0\"\nbudgt = 1\n"
          "[pressure]\nlow = \"10\"\nmedium = \"5%,4%\"\nhigh = \"unlimited\"\n[log]\nreport_every = \"5\"\n") ==
      Lines{"config.toml:2:10: error: budget: '20' is 20 bytes; did you mean 20GiB?",
            "config.toml:3:14: error: virtualize: 'cud' is not one of all, cuda or none; did you mean 'cuda'?",
            "config.toml:4:6: error: '0' names no GPU; write \"cuda:0\", \"pci:0000:3b:00.0\" or a UUID such as "
            "\"GPU-8f6e1c1a\"",
            "config.toml:7:10: error: gpu.\"cuda:0\".budget: '0' leaves nothing at all; write 'unlimited' for no "
            "limit, or a size such as 512MiB",
            "config.toml:8:1: error: unknown key 'budgt' in [gpu.\"cuda:0\"]; did you mean 'budget'?",
            "config.toml:10:7: error: pressure.low: '10' is 10 bytes; did you mean 10GiB?",
            "config.toml:11:10: error: pressure.medium: '5%,4%' has two percentages",
            "config.toml:12:8: error: pressure.high: 'unlimited' is not a threshold; write \"10%\", \"2GiB\" or "
            "\"10%,8GiB\"",
            "config.toml:14:16: error: log.report_every: '5' has no unit; did you mean 5s?"});
  CHECK(fixture.messages_for("budget = -1\n") ==
        Lines{"config.toml:2:10: error: budget: '-1' is negative; write 'unlimited' for no limit"});
}

TEST_CASE("thresholds that do not fall strictly are an error that names both keys") {
  ConfigFixture fixture;
  CHECK(fixture.messages_for("[pressure]\nlow = \"10%\"\n") ==
        Lines{"config.toml:3:7: error: pressure.medium (10%) must be lower than pressure.low (10%)"});
  CHECK(fixture.messages_for("[pressure]\nhigh = \"20%\"\n") ==
        Lines{"config.toml:3:8: error: pressure.high (20%) must be lower than pressure.medium (10%)"});
  CHECK(fixture.messages_for("[pressure]\nlow = \"3GiB\"\nmedium = \"1GiB\"\nhigh = \"1GiB\"\n") ==
        Lines{"config.toml:5:8: error: pressure.high (1GiB) must be lower than pressure.medium (1GiB)"});
  CHECK(fixture.messages_for("[pressure]\nlow = \"3GiB\"\nmedium = \"10%,2GiB\"\nhigh = \"5%,1GiB\"\n").empty());
}

TEST_CASE("syntax errors and duplicate keys have their position") {
  ConfigFixture fixture;
  const auto first = fixture.messages_for("budget = \"1GiB\"\nbudget = \"2GiB\"\n");
  REQUIRE(first.size() == 1);
  CHECK(first[0].find("config.toml:3:") == 0);
  const auto second = fixture.messages_for("budget = 1GiB\n");
  REQUIRE(second.size() == 1);
  CHECK(second[0].find("config.toml:2:") == 0);
  // The parser's own assertions fail for these.
  for (const char* text : {"[=]\n", "[[=]]\n", "[ #\n", "[.a]\n", "[a.=]\n"}) {
    CAPTURE(text);
    CHECK(fixture.messages_for(text).size() == 1);
  }
}

TEST_CASE("the name of a group can be part of a file's name") {
  ConfigFixture fixture;
  const std::string longest(64, 'a');
  for (const std::string& good : {std::string(), std::string("g"), std::string("Job_12.a-B"), longest})
    CHECK(fixture.messages_for("group = \"" + good + "\"\n").empty());
  for (const std::string& bad : {std::string(".a"), std::string(".."), std::string("a/b"), std::string("a b"),
                                 std::string("\xc3\xa4"), longest + "a"})
    CHECK(fixture.messages_for("group = \"" + bad + "\"\n") ==
          Lines{"config.toml:2:9: error: group: '" + bad +
                "' is no name of a group: 1 to 64 of A-Z a-z 0-9 . _ -, the first no dot"});
}

TEST_CASE("keys that take no share or no 'unlimited' say what they take") {
  ConfigFixture fixture;
  CHECK(
      fixture.messages_for("sentinel = \"10%\"\nleave_free = \"unlimited\"\n[gpu.\"cuda:0\"]\nsentinel = \"0\"\n"
                           "[oom]\nspill_limit = \"none\"\n") ==
      Lines{
          "config.toml:2:12: error: sentinel: '10%' is a percentage; here a size such as 8GiB is needed",
          "config.toml:3:14: error: leave_free: 'unlimited' is not possible here; write a size such as 512MiB, a share "
          "such as 25% or 'none'",
          "config.toml:5:12: error: gpu.\"cuda:0\".sentinel: '0' is not possible here; write a size such as 512MiB, "
          "'none' or 'all'",
          "config.toml:7:15: error: oom.spill_limit: 'none' is not possible here; write a size such as 512MiB or a "
          "share such as 25%"});
  CHECK(fixture.messages_for("sentinel = \"20\"\n") ==
        Lines{"config.toml:2:12: error: sentinel: '20' is 20 bytes; did you mean 20GiB?"});
}

TEST_CASE("times that are none, a wait that is too long and checkpoints by a wrong signal are errors") {
  ConfigFixture fixture;
  CHECK(
      fixture.messages_for("[oom]\ndeadline = \"0s\"\nwait_timeout = \"11m\"\ncheckpoint_timeout = \"0ms\"\n"
                           "checkpoint = \"signal:SIGKILL\"\n[hooks]\ntimeout = \"0s\"\ncooldown = \"0s\"\n") ==
      Lines{"config.toml:3:12: error: oom.deadline: '0s' is no time at all; write a duration such as 5s",
            "config.toml:4:16: error: oom.wait_timeout: '11m' is longer than 10m, the longest that a request may wait",
            "config.toml:5:22: error: oom.checkpoint_timeout: '0ms' is no time at all; write a duration such as 5s",
            "config.toml:6:14: error: oom.checkpoint: 'signal:SIGKILL' cannot be handled by any program; write a "
            "signal such as SIGUSR1",
            "config.toml:8:11: error: hooks.timeout: '0s' is no time at all; write a duration such as 5s"});
  CHECK(fixture.messages_for("[oom]\nwait_timeout = \"10m\"\ncheckpoint = \"signal:\"\n") ==
        Lines{"config.toml:4:14: error: oom.checkpoint: 'signal:' is no signal; write a name such as SIGUSR1 or "
              "SIGRTMIN+1"});
}

TEST_CASE("a file that others can write is read, but its commands are not taken") {
  ConfigFixture fixture;
  const std::string text =
      "schema = 1\nbudget = \"3GiB\"\n[oom]\ncheckpoint = \"save\"\n[[hook]]\nname = \"a\"\non = \"oom\"\nshell = "
      "\"true\"\n";
  fixture.paths().only_file = fixture.write("config.toml", text);
  chmod(fixture.paths().only_file.c_str(), 0664);
  CHECK(fixture.messages() ==
        Lines{"config.toml:4:14: warning: 'oom.checkpoint' is ignored: others can write to it (chmod go-w)",
              "config.toml:5:1: warning: hook 'a' is ignored: others can write to it (chmod go-w)"});
  CHECK(fixture.load().config.budget == Size{Bytes{3_GiB}});
}

TEST_CASE("errors of all files and variables come in one pass") {
  ConfigFixture fixture;
  fixture.write("etc/config.toml", "schema = 1\nbugdet = 1\n");
  fixture.write("etc/conf.d/a.toml", "schema = 1\n[log]\nlevel = \"loud\"\n");
  fixture.write("home/.config/vramguard/config.toml", "x y\n");
  fixture.write("etc/limits.toml",
                "schema = 1\nmax_budgt = \"1GiB\"\nmax_sentinel = \"none\"\nhooks = false\nlevel = 1\n");
  fixture.set("VRAMGUARD_BUDGET", "0");
  const auto lines = fixture.messages();
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "etc/config.toml:2:1: error: unknown key 'bugdet'; did you mean 'budget'?");
  CHECK(lines[1] == "etc/conf.d/a.toml:3:9: error: log.level: 'loud' is not one of error, warn, info or debug");
  CHECK(lines[2].find("home/.config/vramguard/config.toml:1:") == 0);
  CHECK(lines[3] == "etc/limits.toml:2:1: error: unknown key 'max_budgt'; did you mean 'max_budget'?");
  CHECK(lines[4] == "etc/limits.toml:5:1: error: unknown key 'level'");
  CHECK(lines[5].find("VRAMGUARD_BUDGET: error: '0' leaves nothing at all") == 0);
}
