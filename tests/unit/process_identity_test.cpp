#include "core/state/process_identity.h"

#include <catch2/catch.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace vramguard;

TEST_CASE("a process knows its number, its start, its namespace and its command") {
  const ProcessIdentity self = identity_of_this_process();
  CHECK(self.pid == getpid());
  CHECK(self.start_ticks == start_ticks_of(getpid()));
  CHECK(self.pid_namespace != 0);
  CHECK_FALSE(self.comm.empty());
  CHECK(self.command.find("unit_tests") != std::string::npos);
  CHECK(self.command.find('\0') == std::string::npos);
}

TEST_CASE("the name of a process cannot pass for its numbers") {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NAME, "a) R 1 2\nUid:\t7");
    static_cast<void>(write(ready[1], "x", 1));
    pause();
    _exit(0);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const std::optional<ProcessLife> life = life_of(child);
  const std::optional<ProcessStatus> status = status_of(child);
  REQUIRE(life);
  REQUIRE(status);
  CHECK_FALSE(life->ended);
  CHECK(life->start_ticks >= start_ticks_of(getpid()));
  CHECK(status->real_uid == getuid());
  CHECK(status->effective_uid == geteuid());
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  CHECK(life_of(child)->ended);
  waitpid(child, nullptr, 0);
  CHECK_FALSE(life_of(child).has_value());
  CHECK_FALSE(status_of(child).has_value());
  close(ready[0]);
  close(ready[1]);
}
