// How a command ends: in time, too late, by a signal, or with its helper.
#include "core/command.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/unit/command_fixture.h"

namespace vramguard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
