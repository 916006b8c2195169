// `vramguard check` and `vramguard version`.

#include "tests/cli/command_fixture.h"

#include <catch2/catch.hpp>

using namespace vramguard;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

TEST_CASE("check prints every mistake at its place and ends with 125") {
  const CommandFixture fixture;
  const std::string file = fixture.write("bad.toml",
                                         "schema = 1\n"
                                         "budget = 20\n"
                                         "[pressure]\n"
                                         "mediun = \"10%\"\n"
                                         "high = \"15%\"\n");
  const Outcome outcome = fixture.vramguard({"check", file});
  CHECK(outcome.exit_status == 125);
  CHECK(outcome.out.empty());
  CHECK(outcome.err == file + ":2:10: error: budget: '20' is 20 bytes; did you mean 20GiB?\n" + file +
                           ":4:1: error: unknown key 'mediun' in [pressure]; did you mean 'medium'?\n" + file +
                           ":5:8: error: pressure.high (15%) must be lower than pressure.medium (10%)\n");
}

TEST_CASE("check prints every value with where it came from") {
  CommandFixture fixture;
  const std::string file =
      fixture.write("good.toml", "schema = 1\nbudget = \"8GiB\"\n[gpu.\"cuda:1\"]\nbudget = \"50%\"\n");
  fixture.set("VRAMGUARD_LOG_LEVEL", "debug");
  fixture.set("VRAMGUARD_BUGDET", "1GiB");
  const Outcome outcome = fixture.vramguard({"check", file});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.err == "VRAMGUARD_BUGDET: warning: unknown variable; did you mean VRAMGUARD_BUDGET?\n");
  CHECK_THAT(outcome.out, StartsWith("budget                   8GiB       " + file +
                                     ":2\n"
                                     "gpu.\"cuda:1\".budget      50%        " +
                                     file +
                                     ":4\n"
                                     "oom_policy               fail       default\n"));
  CHECK_THAT(outcome.out, Contains("log.path                 \"\"         default\n"
                                   "log.format               logfmt     default\n"
                                   "log.level                debug      VRAMGUARD_LOG_LEVEL\n"));
}

TEST_CASE("check lists hooks on one line each key, and a long command pushes aside its own origin alone") {
  const CommandFixture fixture;
  const std::string command(60, 'x');
  const std::string file =
      fixture.write("good.toml", "schema = 1\n[[hook]]\nname = \"a\"\non = \"oom\"\nshell = \"" + command + "\\ny\"\n");
  const Outcome outcome = fixture.vramguard({"check", file});
  CHECK(outcome.exit_status == 0);
  CHECK_THAT(outcome.out, Contains("\nhook.\"a\".on              oom" + std::string(39, ' ') + file +
                                   ":4\nhook.\"a\".shell           " + command + "\\ny  " + file + ":5\n"));
}

TEST_CASE("check without a file reads the usual ones, the user's among them") {
  const CommandFixture fixture;
  const std::string file = fixture.write("home/.config/vramguard/config.toml", "schema = 1\nbudget = \"3GiB\"\n");
  CHECK_THAT(fixture.vramguard({"check"}).out, Contains("3GiB       " + file + ":2\n"));
  CHECK_THAT(fixture.vramguard({"check", fixture.path("nowhere.toml")}).err,
             Contains("nowhere.toml: error: cannot read it: no such file"));
  CHECK(fixture.vramguard({"check", fixture.path("nowhere.toml")}).exit_status == 125);
}

TEST_CASE("version says what is here and where the library is") {
  const CommandFixture fixture;
  for (const char* form : {"version", "--version"}) {
    const Outcome outcome = fixture.vramguard({form});
    CHECK(outcome.exit_status == 0);
    CHECK(outcome.out == std::string("vramguard ") + VRAMGUARD_VERSION + "\nlibrary " + fixture.library() + "\n");
  }
}
