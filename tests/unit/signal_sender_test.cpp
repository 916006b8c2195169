#include "core/signal_sender.h"

#include <catch2/catch.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace vramguard {
namespace {

std::atomic<int> g_value{-1};

void remember(int, siginfo_t* info, void*) { g_value = info->si_value.sival_int; }

void handle(int signal) {
  struct sigaction action {};
  action.sa_sigaction = remember;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, nullptr);
}

SendResult to_self(int signal, int value = 0) { return send_signal({signal, SignalTarget::Self, true}, value); }
SendResult to_parent(int signal, int value = 0) { return send_signal({signal, SignalTarget::Parent, true}, value); }

// The exit status of `body` in a process of its own, or 128 and the signal that ended it.
template <class Body>
int in_a_process(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGUSR1, SIG_DFL);
    _exit(body());
  }
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The same, the parent being one that `prepare` has set up.
template <class Prepare, class Body>
int in_a_child_of(Prepare prepare, Body body) {
  return in_a_process([&] {
    prepare();
    return in_a_process(body);
  });
}

TEST_CASE("a signal that is handled arrives with its value") {
  CHECK(in_a_process([] {
          handle(SIGUSR1);
          return to_self(SIGUSR1, 3) == SendResult::Sent && g_value == 3 ? 7 : 1;
        }) == 7);
  CHECK(in_a_process([] {
          handle(SIGRTMIN + 2);
          return to_self(SIGRTMIN + 2, 4) == SendResult::Sent && g_value == 4 ? 7 : 1;
        }) == 7);
}

TEST_CASE("a signal that would end or stop the program is not sent, unless that is wanted") {
  CHECK(in_a_process([] { return to_self(SIGUSR1) == SendResult::NoHandler ? 7 : 1; }) == 7);
  CHECK(in_a_process([] { return to_self(SIGRTMIN) == SendResult::NoHandler ? 7 : 1; }) == 7);
  CHECK(in_a_process([] { return to_self(SIGTSTP) == SendResult::NoHandler ? 7 : 1; }) == 7);
  CHECK(in_a_process([] { return to_self(SIGKILL) == SendResult::NoHandler ? 7 : 1; }) == 7);
  CHECK(in_a_process([] {
          send_signal({SIGUSR1, SignalTarget::Self, false}, 0);
          return 1;
        }) == 128 + SIGUSR1);
}

TEST_CASE("a signal that is ignored, or harmless by default, is sent") {
  CHECK(in_a_process([] {
          std::signal(SIGUSR1, SIG_IGN);
          return to_self(SIGUSR1) == SendResult::Sent ? 7 : 1;
        }) == 7);
  CHECK(in_a_process([] { return to_self(SIGWINCH) == SendResult::Sent ? 7 : 1; }) == 7);
}

TEST_CASE("a signal that every thread blocks waits for the one that fetches it") {
  CHECK(in_a_process([] {
          sigset_t set;
          sigemptyset(&set);
          sigaddset(&set, SIGUSR1);
          sigprocmask(SIG_BLOCK, &set, nullptr);
          if (to_self(SIGUSR1, 5) != SendResult::Sent) return 1;
          siginfo_t info;
          return sigwaitinfo(&set, &info) == SIGUSR1 && info.si_value.sival_int == 5 ? 7 : 2;
        }) == 7);
}

#if !defined(__SANITIZE_THREAD__)  // it starts no threads in a forked child

TEST_CASE("one thread that does not block a signal is one too many") {
  CHECK(in_a_process([] {
          std::atomic<bool> over{false};
          pthread_t other;
          pthread_create(
              &other, nullptr,
              [](void* flag) -> void* {
                while (!*static_cast<std::atomic<bool>*>(flag)) sched_yield();
                return nullptr;
              },
              &over);
          sigset_t set;
          sigemptyset(&set);
          sigaddset(&set, SIGUSR1);
          pthread_sigmask(SIG_BLOCK, &set, nullptr);
          const SendResult result = to_self(SIGUSR1);
          over = true;
          pthread_join(other, nullptr);
          return result == SendResult::NoHandler ? 7 : 1;
        }) == 7);
}

TEST_CASE("a thread that waits for a signal is found though it does not block it") {
  CHECK(in_a_process([] {
          sigset_t set;
          sigemptyset(&set);
          sigaddset(&set, SIGUSR1);
          pthread_sigmask(SIG_BLOCK, &set, nullptr);
          std::atomic<int> seen{-1};
          pthread_t other;
          struct Shared {
            std::atomic<int>* seen;
            sigset_t* set;
          } shared{&seen, &set};
          pthread_create(
              &other, nullptr,
              [](void* argument) -> void* {
                auto* there = static_cast<Shared*>(argument);
                siginfo_t info;
                for (int i = 0; i < 100; ++i) {
                  sigwaitinfo(there->set, &info);
                  *there->seen = info.si_value.sival_int;
                }
                return nullptr;
              },
              &shared);
          // A thread that is being made is in doubt. Then: while it waits, and while it is between two waits.
          while (to_self(SIGUSR1, 0) != SendResult::Sent) sched_yield();
          while (seen != 0) sched_yield();
          for (int i = 1; i < 100; ++i) {
            if (to_self(SIGUSR1, i) != SendResult::Sent) return 1;
            while (seen != i) sched_yield();
          }
          pthread_join(other, nullptr);
          return 7;
        }) == 7);
}

#endif

TEST_CASE("a parent gets what it handles, and nothing that would end it") {
  CHECK(in_a_child_of([] { handle(SIGUSR1); }, [] { return to_parent(SIGUSR1, 2) == SendResult::Sent ? 7 : 1; }) == 7);
  CHECK(in_a_child_of([] {}, [] { return to_parent(SIGUSR1) == SendResult::NoHandler ? 7 : 1; }) == 7);
  CHECK(in_a_child_of([] { std::signal(SIGUSR1, SIG_IGN); },
                      [] { return to_parent(SIGUSR1) == SendResult::Sent ? 7 : 1; }) == 7);
  CHECK(in_a_child_of(
            [] {
              sigset_t set;
              sigemptyset(&set);
              sigaddset(&set, SIGUSR1);
              sigprocmask(SIG_BLOCK, &set, nullptr);
            },
            [] { return to_parent(SIGUSR1) == SendResult::Sent ? 7 : 1; }) == 7);
}

TEST_CASE("a parent gets the value") {
  CHECK(in_a_process([] {
          handle(SIGUSR1);
          in_a_process([] { return to_parent(SIGUSR1, 9) == SendResult::Sent ? 0 : 1; });
          return g_value.load();
        }) == 9);
}

TEST_CASE("another user's process and process 1 are left alone") {
  if (geteuid() == 0) {
    CHECK(in_a_child_of([] { handle(SIGUSR1); },
                        [] {
                          if (setresuid(65534, 65534, 65534) != 0) return 2;
                          return to_parent(SIGUSR1) == SendResult::NotAllowed ? 7 : 1;
                        }) == 7);
  }
  // An orphan whose reaper is this process, not init: that is refused by what it is, not by its number.
  CHECK(in_a_process([] {
          int ends[2];
          if (pipe(ends) != 0) return 2;
          if (fork() == 0) {
            const pid_t first = getpid();
            if (fork() == 0) {
              while (getppid() == first) sched_yield();
              const SendResult result = to_parent(SIGUSR1);
              const char right = getppid() != 1 || result == SendResult::NotAllowed ? 7 : 1;
              _exit(write(ends[1], &right, 1) == 1 ? 0 : 1);
            }
            _exit(0);
          }
          char right = 0;
          return read(ends[0], &right, 1) == 1 ? static_cast<int>(right) : 3;
        }) == 7);
}

TEST_CASE("what cannot be sent is told, and errno stays") {
  errno = 4711;
  CHECK(send_signal({0, SignalTarget::Self, false}, 0) == SendResult::Failed);
  CHECK(send_signal({65, SignalTarget::Self, false}, 0) == SendResult::Failed);
  CHECK(send_signal({32, SignalTarget::Self, false}, 0) == SendResult::Failed);
  CHECK(send_signal({SIGUSR1, SignalTarget::Group, true}, 0) == SendResult::NoTarget);
  CHECK(to_self(SIGUSR1) == SendResult::NoHandler);
  CHECK(errno == 4711);
}

}  // namespace
}  // namespace vramguard
