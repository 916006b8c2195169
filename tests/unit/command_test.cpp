// How a command starts: what it is given, and what is told of it.
#include "core/command.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/unit/command_fixture.h"

namespace vramguard {
namespace {

using std::chrono::seconds;

TEST_CASE("a command's exit status, output and pid are told") {
  auto command = shell("echo out; echo err >&2; echo $$; exit 7");
  const CommandResult result = command.run();
  CHECK(result.outcome == Outcome::Exited);
  CHECK(result.code == 7);
  CHECK(result.output == "out\nerr\n" + std::to_string(result.pid) + "\n");
  CHECK(result.duration < seconds(30));
}

TEST_CASE("an object runs one command after another") {
  auto command = shell("exit 3");
  for (int i = 0; i < 20; ++i) REQUIRE(command.run().code == 3);
}

TEST_CASE("a command that dies by a signal is told from one that exits") {
  const CommandResult result = shell("kill -SEGV $$").run();
  CHECK(result.outcome == Outcome::Signaled);
  CHECK(result.code == SIGSEGV);
}

TEST_CASE("a command that cannot start says why") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "no program\n";
  const auto failure = [](std::vector<std::string> words) {
    RunningCommand command(std::move(words));
    const CommandResult result = command.run();
    CHECK(result.outcome == Outcome::CannotStart);
    return result.code;
  };
  CHECK(failure({folder.path() + "/none"}) == ENOENT);
  CHECK(failure({"vramguard-has-no-such-program"}) == ENOENT);
  CHECK(failure({""}) == ENOENT);
  CHECK(failure({}) == EINVAL);
  CHECK(failure({file}) == EACCES);
  CHECK(failure({folder.path()}) == EACCES);
  REQUIRE(chmod(file.c_str(), 0755) == 0);
  CHECK(failure({file}) == ENOEXEC);
}

TEST_CASE("a bare name is looked for along the PATH of its environment") {
  const TemporaryFolder folder;
  const std::string program = folder.path() + "/vramguard-program";
  std::ofstream(program) << "#!/bin/sh\nexit 9\n";
  REQUIRE(chmod(program.c_str(), 0755) == 0);
  const auto code_along = [](const std::string& path) {
    RunningCommand command({"vramguard-program"}, seconds(60), {"X=1", "PATH=" + path});
    return command.run().code;
  };
  CHECK(code_along(folder.path()) == 9);
  CHECK(code_along("/nowhere::" + folder.path() + ":/bin") == 9);
  CHECK(code_along("/nowhere") == ENOENT);
  CHECK(code_along(std::string(20'000, 'x') + ":" + folder.path()) == 9);
  RunningCommand without({"true"}, seconds(60), {});
  CHECK(without.run().outcome == Outcome::Exited);
}

TEST_CASE("a command has three descriptors, the root as folder, its own session and nothing to read") {
  CHECK(shell("ls /proc/$$/fd; true").run().output == "0\n1\n2\n");
  CHECK(shell("readlink /proc/$$/fd/0; true").run().output == "/dev/null\n");
  CHECK(shell("pwd").run().output == "/\n");
  CHECK(shell("cat").run().code == 0);
  auto stat = RunningCommand({"cat", "/proc/self/stat"});
  const CommandResult result = stat.run();
  std::istringstream fields{std::string(result.output.substr(result.output.rfind(')') + 2))};
  std::string state;
  pid_t parent = 0, group = 0, session = 0;
  fields >> state >> parent >> group >> session;
  CHECK(parent != getpid());
  CHECK(group == result.pid);
  CHECK(session == result.pid);
}

TEST_CASE("a command gets the environment it is given and no other") {
  RunningCommand command({"/usr/bin/env"}, seconds(60), {"A=1", "B=two words"});
  CHECK(command.run().output == "A=1\nB=two words\n");
}

TEST_CASE("a command has an empty signal mask and every signal's default") {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto usr2 = std::signal(SIGUSR2, SIG_IGN);
  const auto child = std::signal(SIGCHLD, SIG_IGN);
  RunningCommand command({"sed", "-n", "/^Sig[BIC]/p", "/proc/self/status"});
  const CommandResult result = command.run();
  CHECK(result.code == 0);
  CHECK(result.output == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n");
  std::signal(SIGCHLD, child);
  std::signal(SIGUSR2, usr2);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("the thread that starts a command keeps its signal mask and errno") {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  errno = 4711;
  shell("exit 0").run();
  CHECK(errno == 4711);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 65; ++signal) CHECK(sigismember(&before, signal) == sigismember(&after, signal));
}

}  // namespace
}  // namespace vramguard
