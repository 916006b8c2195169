// A program of some kind in which commands are started; command_program_test runs it and looks at its exit status.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/unit/command_fixture.h"

namespace vramguard {
namespace {

constexpr int kGood = 7;
constexpr long kCloseRange = 436;

std::atomic<int> g_sigchld{0};

bool runs() { return shell("exit 7").run().code == 7; }

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int fd = 0; fd < 4096; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

// The call fails with `error` from now on.
bool forbid(long number, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Takes every status it can get, and counts the signals.
int collects_children() {
  struct sigaction action {};
  action.sa_handler = [](int) { ++g_sigchld; };
  sigaction(SIGCHLD, &action, nullptr);
  std::atomic<bool> over{false};
  std::atomic<int> taken{0};
  std::thread collector([&] {
    while (!over) taken += waitpid(-1, nullptr, WNOHANG) > 0 ? 1 : 0;
  });
  int right = 0;
  for (int i = 0; i < 60; ++i) right += runs() ? 1 : 0;
  const bool none_left = waitpid(-1, nullptr, __WALL) == -1 && errno == ECHILD;
  over = true;
  collector.join();
  return right == 60 && taken == 0 && g_sigchld == 0 && none_left ? kGood : 1;
}

int ignores_children() {
  std::signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < 20; ++i) {
    if (!runs()) return 1;
  }
  return kGood;
}

// As one that traces: it takes even the helper's status.
int steals_helpers() {
  std::atomic<bool> over{false};
  std::thread collector([&] {
    while (!over) waitpid(-1, nullptr, WNOHANG | __WALL);
  });
  int right = 0;
  for (int i = 0; i < 60; ++i) right += runs() ? 1 : 0;
  over = true;
  collector.join();
  return right == 60 ? kGood : 1;
}

int keeps_descriptors() {
  const std::size_t before = open_descriptors();
  auto command = shell("exec sleep 60");
  if (!command.start() || command.pid() == 0 || open_descriptors() != before) return 1;
  kill(command.pid(), SIGKILL);
  command->take_result();
  return open_descriptors() == before && fcntl(0, F_GETFD) >= 0 ? kGood : 2;
}

int has_no_descriptors_left() {
  const rlimit limit{64, 64};
  setrlimit(RLIMIT_NOFILE, &limit);
  while (dup(0) >= 0) {
  }
  return runs() && shell("ls /proc/$$/fd; true").run().output == "0\n1\n2\n" ? kGood : 1;
}

// An old kernel, and one where close_range is forbidden.
int has_no_close_range() {
  for (int fd = 0; fd < 300; ++fd) dup(0);
  if (!forbid(kCloseRange, ENOSYS)) return 2;
  return shell("ls /proc/$$/fd; true").run().output == "0\n1\n2\n" ? kGood : 1;
}

int may_not_clone() {
  if (!forbid(SYS_clone, EPERM)) return 2;
  auto command = shell("exit 0");
  const bool started = command.start();
  const CommandResult result = command->take_result();
  return !started && result.outcome == Outcome::CannotStart && result.code == EPERM ? kGood : 1;
}

// `folder` holds what `cat` needs and nothing else: neither /dev/null nor /proc.
int is_in_a_bare_root(const char* folder) {
  if (chroot(folder) != 0 || chdir("/") != 0) return 2;
  for (int fd = 0; fd < 100; ++fd) dup(0);
  if (!forbid(kCloseRange, ENOSYS)) return 2;
  const CommandResult result = RunningCommand({"/cat"}).run();
  return result.outcome == Outcome::Exited && result.code == 0 && result.output.empty() ? kGood : 1;
}

// The thread that started it is gone long before the command ends.
int ends_threads(const char* fifo) {
  auto command = shell(std::string("read line < ") + fifo + "; exit 7");
  std::thread([&] {
    command.start();
    command.pid();
  }).join();
  if (command->wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(50))) return 2;
  std::ofstream(fifo) << "\n";
  return command->take_result().code == 7 ? kGood : 1;
}

// Dies while the command runs, with a large mapping that must not stay.
int dies(const char* line, const char* timeout_ms) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  std::memset(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, kBytes);
  auto command = shell(line, std::chrono::milliseconds(std::atoi(timeout_ms)));
  command.start();
  if (command.pid() == 0) return 1;
  kill(getpid(), SIGKILL);
  return 2;
}

// Prints what one run of /bin/true costs a program of that many GiB.
int costs(const char* gib) {
  const std::size_t bytes = static_cast<std::size_t>(std::atoi(gib)) << 30;
  if (bytes > 0)
    std::memset(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, bytes);
  RunningCommand command({"/bin/true"});
  constexpr int kRuns = 300;
  std::chrono::nanoseconds starting{0}, whole{0};
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!command.start()) return 1;
    starting += std::chrono::steady_clock::now() - begin;
    command->take_result();
    whole += std::chrono::steady_clock::now() - begin;
  }
  std::printf("start() %.1f us, round trip %.2f ms\n", static_cast<double>(starting.count()) / kRuns / 1e3,
              static_cast<double>(whole.count()) / kRuns / 1e6);
  return kGood;
}

int run(const std::string& kind, char** arguments) {
  if (kind == "collects-children") return collects_children();
  if (kind == "ignores-children") return ignores_children();
  if (kind == "steals-helpers") return steals_helpers();
  if (kind == "keeps-descriptors") return keeps_descriptors();
  if (kind == "no-descriptors-left") return has_no_descriptors_left();
  if (kind == "no-close-range") return has_no_close_range();
  if (kind == "may-not-clone") return may_not_clone();
  if (kind == "bare-root") return is_in_a_bare_root(arguments[0]);
  if (kind == "ends-threads") return ends_threads(arguments[0]);
  if (kind == "dies") return dies(arguments[0], arguments[1]);
  if (kind == "costs") return costs(arguments[0]);
  return 64;
}

}  // namespace
}  // namespace vramguard

// The leak checker cannot work in a program without descriptors, clone or /proc.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

int main(int count, char** arguments) { return count < 2 ? 64 : vramguard::run(arguments[1], arguments + 2); }
