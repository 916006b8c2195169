// `vramguard run --require`: the staying parent, as its command, its terminal and its caller see it.

#include "cli/gpu_traces.h"
#include "tests/cli/command_fixture.h"
#include "tests/cli/terminal_session.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sstream>

using namespace vramguard;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr char kLoop[] = "; echo ready; while :; do sleep 0.02; done";

std::vector<std::string> required(std::vector<std::string> command) {
  command.insert(command.begin(), {"run", "--require", "--"});
  return command;
}

}  // namespace

TEST_CASE("a staying parent returns the status of its command, and 128 + n for signal n") {
  const CommandFixture fixture;
  for (const int status : {0, 1, 42, 255}) {
    const Outcome outcome = fixture.vramguard(required({"sh", "-c", "exit " + std::to_string(status)}));
    CHECK(outcome.err.empty());
    CHECK(outcome.exit_status == status);
  }
  CHECK(fixture.vramguard(required({"sh", "-c", "kill -TERM $$"})).exit_status == 128 + SIGTERM);
  CHECK(fixture.vramguard(required({"sh", "-c", "kill -KILL $$"})).exit_status == 128 + SIGKILL);
  CHECK(fixture.vramguard(required({"no-such-program"})).exit_status == 127);
  // Neither a program nor a script, which only the kernel finds out.
  CHECK(fixture.vramguard(required({fixture.write("tools/odd", "#!/no/such/shell\n", 0755)})).exit_status == 127);
}

TEST_CASE("a staying parent waits for all that descends from its command") {
  const CommandFixture fixture;
  const Outcome outcome =
      fixture.vramguard(required({"sh", "-c", "(setsid sh -c 'sleep 0.3; echo late' &); echo early; exit 3"}));
  CHECK(outcome.out == "early\nlate\n");
  CHECK(outcome.exit_status == 3);
}

TEST_CASE("a process of the command that kills the whole process group does not end the parent") {
  const CommandFixture fixture;
  const Outcome outcome =
      fixture.vramguard(required({"setsid", "-w", fixture.path("bin/vramguard"), "run", "--require", "sh", "-c",
                                  "trap 'echo caught' TERM; kill -TERM 0; sleep 0.1; exit 5"}));
  CHECK(outcome.out == "caught\n");
  CHECK(outcome.exit_status == 5);
}

TEST_CASE("a process without the library that has the driver loaded makes the status 125") {
#ifdef VRAMGUARD_SANITIZED
  WARN("skipped: a command with sanitizers does not start under another preload");
  return;
#endif
  const CommandFixture fixture;
  const std::string driver = fixture.copy(VRAMGUARD_DUMMY_LIBRARY, "driver/libcuda.so.1");
  const std::string sleep = " LD_PRELOAD=\"$0\" sleep 0.6";
  Outcome outcome = fixture.vramguard(required({"sh", "-c", "env -i" + sleep + " & wait; exit 4", driver}));
  CHECK(outcome.exit_status == 125);
  CHECK_THAT(outcome.err, StartsWith("vramguard: error: process "));
  CHECK_THAT(outcome.err, Contains("(sleep) used a GPU unguarded: libvramguard.so is not loaded in it\n"));
  // The same with the library, and without the driver.
  outcome = fixture.vramguard(
      required({"sh", "-c", "LD_PRELOAD=\"$LD_PRELOAD:$0\" sleep 0.6; env -i sleep 0.3; exit 4", driver}));
  CHECK(outcome.err.empty());
  CHECK(outcome.exit_status == 4);
  // The command itself goes on as a program without it, after the first look.
  outcome = fixture.vramguard(required({"sh", "-c", "sleep 0.3; exec env -i" + sleep, driver}));
  CHECK(outcome.exit_status == 125);
}

TEST_CASE("--require never starts a command for which the loader passes the library over") {
  const CommandFixture fixture;
  std::filesystem::remove(fixture.library());
  fixture.copy(VRAMGUARD_INCOMPLETE_LIBRARY, "bin/libvramguard.so");
  const Outcome outcome = fixture.vramguard(required({"echo", "started"}));
  CHECK(outcome.exit_status == 125);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Contains("vramguard: error: the loader does not load " + fixture.library()));
}

TEST_CASE("the map of a process that ends while it is read accuses nobody") {
  const std::string driver = "7f0000000000-7f0000001000 r-xp 00000000 00:00 1    /usr/lib/libcuda.so.1\n";
  const std::string guard = "7f0000002000-7f0000003000 r-xp 00000000 00:00 2    /usr/lib/libvramguard.so\n";
  const std::string stack = "7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0    [stack]\n";
  std::istringstream broken_off(driver), whole(driver + guard + stack), unguarded(driver + stack);
  CHECK_FALSE(gpu_traces_in(broken_off));
  const auto guarded = gpu_traces_in(whole), open = gpu_traces_in(unguarded);
  REQUIRE((guarded && open));
  CHECK((guarded->guard && guarded->driver));
  CHECK((!open->guard && open->driver));
}

TEST_CASE("--require contradicts VRAMGUARD=0") {
  CommandFixture fixture;
  fixture.set("VRAMGUARD", "0");
  const Outcome outcome = fixture.vramguard(required({"echo", "started"}));
  CHECK(outcome.exit_status == 125);
  CHECK(outcome.out.empty());
}

TEST_CASE("signals from outside reach the command, whose end is the parent's") {
  const CommandFixture fixture;
  const auto send = [&](int signal, const std::string& trap) {
    TerminalSession session(fixture, required({"sh", "-c", "trap 'exit 7' " + trap + kLoop}));
    session.wait_for("ready");
    kill(session.pid(), signal);
    return session.finish();
  };
  CHECK(send(SIGTERM, "TERM") == 7);
  CHECK(send(SIGUSR1, "USR1") == 7);
  CHECK(send(SIGINT, "INT") == 7);
  CHECK(send(SIGRTMIN + 1, "RTMIN+1") == 7);
  CHECK(send(SIGTERM, "USR1") == 128 + SIGTERM);
}

TEST_CASE("the command reads the terminal, and gets what is typed there once") {
  const CommandFixture fixture;
  TerminalSession session(
      fixture,
      required({"sh", "-c",
                "read line; echo \"got $line\"; trap 'n=$((n+1))' INT; trap 'exit 2$n' TERM" + std::string(kLoop)}));
  session.type("hello\n");
  session.wait_for("got hello");
  session.wait_for("ready");
  session.type("\x03");
  session.wait_for("^C");
  usleep(100'000);  // for a second one to come
  kill(session.pid(), SIGTERM);
  CHECK(session.finish() == 21);
}

TEST_CASE("a shell can stop the job and go on with it") {
  const CommandFixture fixture;
  const std::string job = fixture.path("bin/vramguard") + " run --require -- ";
  TerminalSession session(fixture, {},
                          {"bash", "-c",
                           "set -m; " + job +
                               "sh -c 'kill -TSTP $$; echo again; exit 3'; echo \"was $?\"; fg; echo "
                               "\"is $?\""});
  session.wait_for("was " + std::to_string(128 + SIGTSTP));
  session.wait_for("again");
  session.wait_for("is 3");
  CHECK(session.finish() == 0);
}

TEST_CASE("the command ends with a parent that is killed") {
  const CommandFixture fixture;
  TerminalSession session(fixture, required({"sh", "-c", "trap '' HUP; echo pid $$ end" + std::string(kLoop)}));
  session.wait_for("ready");
  const std::string text = session.text();
  const pid_t command = std::stoi(text.substr(text.find("pid ") + 4));
  kill(session.pid(), SIGKILL);
  CHECK(session.finish() == 128 + SIGKILL);
  for (int i = 0; i < 200 && kill(command, 0) == 0; ++i) usleep(10'000);
  CHECK(kill(command, 0) != 0);
}
