// What a command is given, how it ends, and what is told of it.
#include "core/command.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/unit/command_fixture.h"

namespace vramguard {
namespace {

using std::chrono::milliseconds;
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

TEST_CASE("a command that takes too long is asked to end") {
  auto command = shell("echo begun; exec sleep 60", milliseconds(50));
  const CommandResult result = command.run();
  CHECK(result.outcome == Outcome::TimedOut);
  CHECK(result.code == SIGTERM);
  CHECK(result.duration >= milliseconds(50));
  CHECK_FALSE(is_running(result.pid));
}

TEST_CASE("a command that does not end when asked is killed, with all of its group") {
  auto command = shell("trap '' TERM; sleep 60 & echo $!; while :; do sleep 0.1; done", milliseconds(50));
  const CommandResult result = command.run();
  CHECK(result.outcome == Outcome::TimedOut);
  CHECK(result.code == SIGKILL);
  CHECK(result.duration >= milliseconds(50) + Command::kGrace);
  CHECK(result.duration < milliseconds(50) + Command::kGrace + seconds(10));
  CHECK_FALSE(is_running(result.pid));
  CHECK_FALSE(is_running(std::stoi(std::string(result.output))));
}

TEST_CASE("what a command started has its time to end as well") {
  // The shell ends at once; its child, when it is asked, only after a while.
  const std::string child = "trap 'sleep 0.3; echo saved; exit' TERM; echo $$; while :; do sleep 0.05; done";
  auto command = shell(
      "sh -c \"" + child.substr(0, child.find("$$")) + "\\$\\$" + child.substr(child.find("$$") + 2) + "\" & wait",
      milliseconds(500));
  const CommandResult result = command.run();
  CHECK(result.outcome == Outcome::TimedOut);
  CHECK(result.code == SIGTERM);
  CHECK(result.output.find("saved") != std::string_view::npos);
  CHECK_FALSE(is_running(std::stoi(std::string(result.output))));
}

TEST_CASE("a daemon that a command leaves behind is not waited for, even where it keeps the output open") {
  auto command = shell("setsid sleep 60 & echo $!");
  const CommandResult result = command.run();
  CHECK(result.outcome == Outcome::Exited);
  CHECK(result.duration < seconds(30));
  const pid_t daemon = std::stoi(std::string(result.output));
  CHECK(is_running(daemon));
  kill(daemon, SIGKILL);
}

TEST_CASE("much output neither blocks a command nor is kept") {
  auto command = shell("yes | head -c 200M; exit 5");
  const CommandResult result = command.run();
  CHECK(result.code == 5);
  REQUIRE(result.output.size() == CommandResult::kOutputBytes);
  for (std::size_t i = 0; i < result.output.size(); ++i) REQUIRE(result.output[i] == (i % 2 == 0 ? 'y' : '\n'));
}

TEST_CASE("a command that never stops writing ends at its timeout") {
  const CommandResult result = shell("yes", milliseconds(50)).run();
  CHECK(result.outcome == Outcome::TimedOut);
  CHECK(result.duration < seconds(30));
}

TEST_CASE("a wait ends at its deadline, and the command goes on") {
  auto command = shell("exec sleep 60");
  REQUIRE(command.start());
  const pid_t pid = command.pid();
  CHECK(pid > 0);
  CHECK_FALSE(command->wait_until(std::chrono::steady_clock::now() + milliseconds(20)));
  CHECK_FALSE(command->wait_until(MonotonicTime{}));
  CHECK_FALSE(command->finished());
  CHECK_FALSE(command.start());
  CHECK(is_running(pid));
  kill(pid, SIGTERM);
  CHECK(command->wait_until(MonotonicTime::max()));
  CHECK(command->take_result().code == SIGTERM);
}

TEST_CASE("whoever waits is told of the end, all of them") {
  const TemporaryFolder folder;
  const std::string fifo = folder.path() + "/fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  auto command = shell("read line < " + fifo);
  REQUIRE(command.start());
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { told += command->wait_until(MonotonicTime::max()) ? 1 : 0; });
  }
  std::ofstream(fifo) << "\n";
  for (std::thread& thread : threads) thread.join();
  CHECK(told == 8);
  CHECK(command->take_result().code == 0);
}

TEST_CASE("the end is announced once, when it can be seen") {
  struct Ended {
    Command* command;
    std::atomic<int> times{0};
    std::atomic<bool> early{false};
  };
  auto command = shell("exit 0");
  for (int i = 0; i < 50; ++i) {
    Ended ended{&*command};
    REQUIRE(command.start(
        [](void* context) noexcept {
          auto* seen = static_cast<Ended*>(context);
          if (!seen->command->finished()) seen->early = true;
          ++seen->times;
        },
        &ended));
    command->take_result();
    CHECK(ended.times == 1);
    CHECK_FALSE(ended.early);
  }
}

TEST_CASE("a command that is given up is killed") {
  pid_t pid = 0;
  {
    auto command = shell("trap '' TERM; while :; do sleep 0.1; done");
    REQUIRE(command.start());
    pid = command.pid();
    CHECK(is_running(pid));
  }
  CHECK_FALSE(is_running(pid));
}

TEST_CASE("when the helper is killed the command is, and nobody waits in vain") {
  auto command = shell("exec sleep 60");
  REQUIRE(command.start());
  const pid_t pid = command.pid();
  const pid_t helper = parent_of(pid);
  REQUIRE(helper > 1);
  REQUIRE(helper != getpid());
  kill(helper, SIGKILL);
  CHECK(command->wait_until(MonotonicTime::max()));
  const CommandResult result = command->take_result();
  CHECK(result.outcome == Outcome::Signaled);
  CHECK(result.code == SIGKILL);
  CHECK(happens([&] { return !is_running(pid); }));
}

TEST_CASE("signals that are sent to the helper do not disturb it") {
  auto command = shell("exec sleep 60", milliseconds(500));
  REQUIRE(command.start());
  const pid_t helper = parent_of(command.pid());
  REQUIRE(helper > 1);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGRTMIN}) kill(helper, signal);
  CHECK(command->take_result().outcome == Outcome::TimedOut);
}

TEST_CASE("many threads start commands at the same time") {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&good, i] {
      auto command = shell("echo " + std::to_string(i) + "; exit " + std::to_string(i));
      for (int k = 0; k < 10; ++k) {
        const CommandResult result = command.run();
        if (result.code == i && result.output == std::to_string(i) + "\n") ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 160);
}

TEST_CASE("more commands at once than there is room for are refused, and none is lost") {
  std::vector<RunningCommand> commands;
  for (std::size_t i = 0; i < Command::kMostAtOnce; ++i) {
    commands.push_back(shell("exec sleep 60"));
    REQUIRE(commands.back().start());
  }
  auto one_more = shell("exit 0");
  CHECK_FALSE(one_more.start());
  CHECK(one_more->finished());
  CHECK(one_more->take_result().code == EAGAIN);
  commands.pop_back();
  CHECK(one_more.run().outcome == Outcome::Exited);
}

}  // namespace
}  // namespace vramguard
