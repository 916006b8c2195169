#include "cli/staying_parent.h"

#include "cli/exit_status.h"
#include "cli/gpu_traces.h"
#include "cli/gpu_watch.h"
#include "cli/signal_relay.h"
#include "core/errno_text.h"
#include "core/run_summary.h"
#include "core/state/state_reader.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>

namespace vramguard {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLookEvery = 200ms;
constexpr auto kStartEvery = 5ms;  // until it is known whether the loader has loaded the library
constexpr int kLeastIdle = 20;     // of the time that a look took: a crowded machine is looked at less often

class StayingParent {
 public:
  explicit StayingParent(const std::string& folder) : watch_(folder) {}

  // What went wrong when the command was to be started.
  std::optional<Problem> start(const std::vector<std::string>& command, ChildEnvironment& environment);
  void wait();
  int status() const { return status_; }
  bool library_is_missing() const { return library_is_missing_; }
  const GpuWatch& watch() const { return watch_; }

 private:
  [[noreturn]] void become(char* const* arguments, const char* const* environment, int report);
  void reap();
  void check_library();
  void look();

  GpuWatch watch_;
  sigset_t signals_ = relayed_signals(), old_signals_{};
  struct sigaction old_child_ {};
  pid_t parent_ = getpid();
  pid_t command_ = -1;  // -1 again when it has ended
  bool alone_ = false;  // no child is left
  bool library_is_known_ = false, library_is_missing_ = false;
  int status_ = kVramguardFailed;
  Clock::time_point next_look_ = Clock::now() + kLookEvery;
};

std::optional<Problem> StayingParent::start(const std::vector<std::string>& command, ChildEnvironment& environment) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const char* const* variables = environment.pointers();

  prctl(PR_SET_CHILD_SUBREAPER, 1);
  struct sigaction as_usual {};
  as_usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &as_usual, &old_child_);  // where it is ignored, nobody learns how a child ended
  sigprocmask(SIG_BLOCK, &signals_, &old_signals_);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return Problem{kVramguardFailed, "no pipe: " + errno_text(errno)};
  command_ = fork();
  if (command_ == 0) become(arguments.data(), variables, report[1]);
  const int fork_error = errno;
  close(report[1]);
  int error = 0;
  const ssize_t size = command_ < 0 ? -1 : read(report[0], &error, sizeof error);
  close(report[0]);
  if (command_ < 0) return Problem{kVramguardFailed, "no process can be made: " + errno_text(fork_error)};
  if (size != sizeof error) return std::nullopt;
  waitpid(command_, nullptr, 0);
  return Problem{error == ENOENT ? kNotFound : kNotExecutable,
                 "'" + command.front() + "' cannot be executed: " + errno_text(error)};
}

// The end of the parent is the end of the command, as without --require, where they are one process.
void StayingParent::become(char* const* arguments, const char* const* environment, int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent_) _exit(kVramguardFailed);
  sigaction(SIGCHLD, &old_child_, nullptr);
  sigprocmask(SIG_SETMASK, &old_signals_, nullptr);
  execvpe(arguments[0], arguments, const_cast<char* const*>(environment));
  const int error = errno;
  const ssize_t written = write(report, &error, sizeof error);
  _exit(written == sizeof error ? kNotExecutable : kVramguardFailed);
}

void StayingParent::wait() {
  while (!alone_) {
    const auto now = Clock::now();
    auto idle = std::max<Clock::duration>(next_look_ - now, 0ms);
    if (!library_is_known_) idle = std::min<Clock::duration>(idle, kStartEvery);
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(idle).count();
    const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
    siginfo_t signal{};
    if (sigtimedwait(&signals_, &signal, &time) > 0) relay(signal, command_);
    reap();
    if (!library_is_known_) check_library();
    if (Clock::now() >= next_look_) look();
  }
}

void StayingParent::reap() {
  for (;;) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG | WUNTRACED);
    alone_ = child < 0 && errno == ECHILD;
    if (child <= 0) return;
    if (child != command_) continue;
    if (WIFSTOPPED(status)) {
      const auto now = look_at_tree_process(command_);  // it may go on already
      if (now && now->state == 'T') stop_too(WSTOPSIG(status));
    } else {
      status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      command_ = -1;
    }
  }
}

// The loader maps what is preloaded before the C library. Where that is there alone, the library was passed over.
void StayingParent::check_library() {
  const auto traces = command_ > 0 ? gpu_traces_of(command_) : std::nullopt;
  library_is_known_ = command_ < 0 || (traces && (traces->guard || traces->libc));
  library_is_missing_ = traces && traces->libc && !traces->guard;
  if (library_is_missing_) kill(command_, SIGKILL);
}

void StayingParent::look() {
  const auto begin = Clock::now();
  watch_.look(descendants_of(parent_), begin);
  const auto end = Clock::now();
  next_look_ = end + std::max<Clock::duration>(kLookEvery, kLeastIdle * (end - begin));
}

std::string in_words(const std::vector<GpuWatch::Unguarded>& unguarded) {
  const GpuWatch::Unguarded& first = unguarded.front();
  const std::string others = unguarded.size() > 1 ? " (and " + std::to_string(unguarded.size() - 1) + " more)" : "";
  return "process " + std::to_string(first.pid) + " (" + printable(first.comm) + ")" + others +
         " used a GPU unguarded: " + first.why;
}

}  // namespace

int stay_as_parent(const std::vector<std::string>& command, ChildEnvironment& environment, const Handover& handover,
                   bool with_summary) {
  StayingParent parent(handover.folder);
  if (const auto problem = parent.start(command, environment)) {
    print_error(problem->message);
    return problem->exit_status;
  }
  parent.wait();
  const GpuWatch::Totals totals = parent.watch().totals();
  if (with_summary && totals.any) {
    const std::string summary = run_summary(totals.peak, totals.budget, totals.refused, totals.recovered);
    std::fprintf(stderr, "vramguard: %s\n", summary.c_str());
  }
  if (parent.library_is_missing()) {
    print_error("'" + command.front() +
                "' was ended: the loader did not load libvramguard.so into it; 'vramguard doctor' says why");
    return kVramguardFailed;
  }
  if (parent.watch().unguarded().empty()) return parent.status();
  print_error(in_words(parent.watch().unguarded()));
  return kVramguardFailed;
}

}  // namespace vramguard
