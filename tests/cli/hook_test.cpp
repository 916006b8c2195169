// `vramguard hook test`.

#include "tests/cli/command_fixture.h"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace vramguard;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

// A fixture whose configuration has these hooks.
class HookFixture : public CommandFixture {
 public:
  explicit HookFixture(const std::string& hooks) {
    set("VRAMGUARD_CONFIG", write("mine.toml", "schema = 1\nbudget = \"8GiB\"\n" + hooks));
  }
  Outcome test(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"hook", "test"});
    return vramguard(arguments);
  }
};

std::string hook(const std::string& name, const std::string& rest) {
  return "[[hook]]\nname = \"" + name + "\"\n" + rest;
}

}  // namespace

TEST_CASE("a dry run says what a hook would run and what it would be told") {
  const HookFixture fixture(hook("trim", "on = \"pressure\"\nat = \"high\"\nshell = \"touch $HOME/ran\"\n") +
                            hook("drop", "on = \"oom\"\nargv = [\"drop\", \"a b\"]\n"));
  Outcome outcome = fixture.test({"trim", "--dry-run"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, StartsWith("hook      trim\non        pressure at high\n"
                                     "runs      [\"/bin/sh\", \"-c\", \"touch $HOME/ran\"]\ntimeout   10s\n"));
  CHECK_THAT(outcome.out, Contains("\n  VRAMGUARD_HOOK_EVENT=pressure\n"));
  CHECK_THAT(outcome.out, Contains("\n  VRAMGUARD_HOOK_NAME=trim\n"));
  CHECK_THAT(outcome.out, Contains("\n  VRAMGUARD_HOOK_LEVEL=high\n"));
  CHECK_THAT(outcome.out, Contains("\n  VRAMGUARD_HOOK_BUDGET_BYTES=8589934592\n"));
  CHECK_THAT(outcome.out, Contains("\n  VRAMGUARD_HOOK_REQUESTED_BYTES=\n"));  // not of this event

  CHECK_THAT(fixture.test({"trim", "--dry-run", "--level", "critical"}).out,
             Contains("on        pressure at high, tried at critical\n") && Contains("LEVEL=critical\n"));
  outcome = fixture.test({"drop", "--dry-run"});
  CHECK_THAT(outcome.out, Contains("timeout   5s (oom.deadline)\n"));
  CHECK_THAT(outcome.out, Contains("  VRAMGUARD_HOOK_SHORT_BYTES=536870912\n"));
}

TEST_CASE("a test runs the command with its environment, and ends with its exit status") {
  HookFixture fixture(
      hook("ok", "on = \"oom\"\nshell = \"echo $VRAMGUARD_HOOK_NAME $VRAMGUARD_HOOK_LEVEL $(pwd)\"\n") +
      hook("later", "on = \"oom\"\nshell = \"exit 75\"\n") + hook("no", "on = \"oom\"\nshell = \"exit 3\"\n") +
      hook("fails", "on = \"budget\"\nshell = \"exit 3\"\n") + hook("dies", "on = \"oom\"\nshell = \"kill -9 $$\"\n") +
      hook("absent", "on = \"oom\"\nargv = [\"no-such-program\"]\n"));
  Outcome outcome = fixture.test({"ok"});
  CHECK(outcome.exit_status == 0);
  CHECK_THAT(outcome.out, Contains("result    exit status 0: it freed something, the request is tried again\n"));
  CHECK_THAT(outcome.out, Contains("\noutput\nok critical /\n"));
  CHECK_THAT(outcome.out, Contains(" ms\n"));

  outcome = fixture.test({"later"});
  CHECK(outcome.exit_status == 75);
  CHECK_THAT(outcome.out, Contains("result    exit status 75: it frees in the background, the request waits\n"));
  outcome = fixture.test({"no"});
  CHECK(outcome.exit_status == 3);
  CHECK_THAT(outcome.out, Contains("result    exit status 3: the next hook's turn\n"));
  CHECK_THAT(fixture.test({"fails"}).out, Contains("result    exit status 3: a failure\n"));
  CHECK(fixture.test({"dies"}).exit_status == 128 + SIGKILL);
  outcome = fixture.test({"absent"});
  CHECK(outcome.exit_status == 127);
  CHECK_THAT(outcome.out, Contains("result    cannot be started: no such file\n"));
}

TEST_CASE("a test that does not end in time is ended, first politely") {
  const HookFixture fixture(hook(
      "polite", "on = \"budget\"\nshell = \"trap 'echo bye; exit 1' TERM; sleep 60 & wait\"\ntimeout = \"200ms\"\n"));
  const Outcome outcome = fixture.test({"polite"});
  CHECK(outcome.exit_status == 124);
  CHECK_THAT(outcome.out, Contains("result    did not end in time, and got signal 15: a failure\n"));
  CHECK_THAT(outcome.out, Contains("bye\n"));
}

TEST_CASE("a signal is sent to the process that is named, and to no other") {
  const HookFixture fixture(
      hook("tell", "on = \"pressure\"\nat = \"low\"\nsignal = \"SIGUSR1\"\ntarget = \"parent\"\n"));
  Outcome outcome = fixture.test({"tell"});
  CHECK(outcome.exit_status == 0);
  CHECK(
      outcome.out ==
      "hook      tell\non        pressure at low\n"
      "sends     signal 10 with the value 1 (low) to the parent of the guarded process, if that has a handler for it\n"
      "result    nothing was sent; --pid PID sends it to that process\n");

  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    for (;;) pause();
  }
  outcome = fixture.test({"tell", "--pid", std::to_string(child)});
  CHECK(outcome.exit_status == 1);
  CHECK_THAT(outcome.out, Contains("result    not sent: process " + std::to_string(child) + " has no handler for it"));
  CHECK(kill(child, 0) == 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);

  static volatile std::sig_atomic_t got = 0;
  const auto old = std::signal(SIGUSR1, [](int) { got = got + 1; });
  outcome = fixture.test({"tell", "--pid", std::to_string(getpid()), "--dry-run"});
  CHECK(got == 0);
  outcome = fixture.test({"tell", "--pid", std::to_string(getpid())});
  std::signal(SIGUSR1, old);
  CHECK(outcome.exit_status == 0);
  CHECK(got == 1);
}

TEST_CASE("a hook that is not there, a wrong level and a pid for no signal are errors") {
  const HookFixture fixture(hook("trim-kv", "on = \"oom\"\nshell = \"true\"\n"));
  const auto error = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = fixture.test(arguments);
    CHECK(outcome.exit_status == 125);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK(error({"trim-vk"}) == "vramguard: error: no hook is called 'trim-vk'; did you mean 'trim-kv'?\n");
  CHECK(error({"x"}) == "vramguard: error: no hook is called 'x'; there are: trim-kv\n");
  CHECK_THAT(error({"trim-kv", "--level", "top"}), StartsWith("vramguard: error: --level: 'top' is not one of none"));
  CHECK(error({"trim-kv", "--pid", "1"}) == "vramguard: error: --pid: hook 'trim-kv' sends no signal\n");
  CHECK_THAT(error({}), Contains("--help"));
  CHECK(CommandFixture().vramguard({"hook", "test", "x"}).err ==
        "vramguard: error: no hook is called 'x'; the configuration has none\n");
}
