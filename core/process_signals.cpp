#include "core/process_signals.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace vramguard {

namespace {

struct SmallFile {
  explicit SmallFile(const char* path) noexcept {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t size;
    while (length < sizeof content && (size = read(fd, content + length, sizeof content - length)) > 0) {
      length += static_cast<std::size_t>(size);
    }
    close(fd);
  }
  std::string_view text() const noexcept { return {content, length}; }

  char content[4096];
  std::size_t length = 0;
};

// The first number behind `label` (at the start of a line), and the one that follows.
template <class T>
bool read_numbers(std::string_view status, std::string_view label, int base, T* numbers, int count) noexcept {
  std::size_t at = status.find(label);
  if (at == std::string_view::npos) return false;
  at += label.size();
  for (int i = 0; i < count; ++i) {
    at = status.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return false;
    const auto [end, error] = std::from_chars(status.data() + at, status.data() + status.size(), numbers[i], base);
    if (error != std::errc()) return false;
    at = static_cast<std::size_t>(end - status.data());
  }
  return true;
}

// "pid (comm) state ...": the name may hold anything; the 20th field behind it is when the process started.
std::uint64_t start_time_in(std::string_view stat) noexcept {
  std::size_t at = stat.rfind(')');
  for (int field = 0; field < 20 && at != std::string_view::npos; ++field) at = stat.find(' ', at + 1);
  std::uint64_t time = 0;
  if (at != std::string_view::npos) std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), time);
  return time;
}

struct CurrentCall {
  long number = -1;  // none, or not to be known
  std::uintptr_t argument = 0;
};

CurrentCall current_call(pid_t pid, const char* task) noexcept {
  char path[320];
  snprintf(path, sizeof path, "/proc/%d/task/%s/syscall", static_cast<int>(pid), task);
  const SmallFile file(path);
  const std::string_view text = file.text();
  CurrentCall call;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), call.number);
  if (error != std::errc()) return {};
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (rest.starts_with(" 0x")) std::from_chars(rest.data() + 3, rest.data() + rest.size(), call.argument, 16);
  return call;
}

// A thread in sigwait does not block what it waits for, as long as it waits.
bool waits_for(const CurrentCall& call, int signal) noexcept {
  if (call.number != SYS_rt_sigtimedwait) return false;
  // It may have gone on, and its stack with it.
  SignalBits waited = 0;
  const iovec here{&waited, sizeof waited};
  const iovec there{reinterpret_cast<void*>(call.argument), sizeof waited};
  if (syscall(SYS_process_vm_readv, getpid(), &here, 1L, &there, 1L, 0L) != ssize_t{sizeof waited}) return false;
  return (waited & signal_bit(signal)) != 0;
}

bool rests(const CurrentCall& call) noexcept {
  switch (call.number) {
    case SYS_futex:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_rt_sigtimedwait:
    case SYS_read:
    case SYS_accept:
    case SYS_accept4:
#if defined(SYS_poll)
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
      return true;
    default:
      return false;
  }
}

enum class Blocks { Yes, No, InPassing };

Blocks blocks(std::string_view status, pid_t pid, const char* task, int signal) noexcept {
  // The two that the C library keeps for itself are blocked only in passing.
  constexpr SignalBits kPassing = signal_bit(32) | signal_bit(33);
  constexpr SignalBits kAll = ~(kPassing | signal_bit(SIGKILL) | signal_bit(SIGSTOP));
  SignalBits blocked = 0;
  if (!read_numbers(status, "\nSigBlk:", 16, &blocked, 1)) return Blocks::No;
  if ((blocked & kPassing) != 0) return Blocks::InPassing;
  if ((blocked & signal_bit(signal)) == 0) {
    return pid == getpid() && waits_for(current_call(pid, task), signal) ? Blocks::Yes : Blocks::No;
  }
  // A thread that is being made, makes another or writes a line of ours blocks all signals, but not for long. One that
  // rests means it; the one that looks is at rest but for us.
  if ((blocked & kAll) != kAll) return Blocks::Yes;
  const bool means_it = std::strtol(task, nullptr, 10) == syscall(SYS_gettid) || rests(current_call(pid, task));
  return means_it ? Blocks::Yes : Blocks::InPassing;
}

Blocks look_at_threads(pid_t pid, int signal) noexcept {
  char path[320];
  snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(pid));
  DIR* const tasks = opendir(path);
  if (tasks == nullptr) return Blocks::No;
  Blocks all = Blocks::Yes;
  int seen = 0;
  for (const dirent* task = readdir(tasks); task != nullptr && all != Blocks::No; task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%s/status", static_cast<int>(pid), task->d_name);
    const SmallFile status(path);
    if (status.length == 0 || status.text().find("\nState:\tZ") != std::string_view::npos) continue;  // gone
    ++seen;
    const Blocks one = blocks(status.text(), pid, task->d_name, signal);
    if (one != Blocks::Yes) all = one;
  }
  closedir(tasks);
  return seen > 0 ? all : Blocks::No;
}

}  // namespace

std::optional<ProcessSignals> look_at_process(pid_t pid) noexcept {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(pid));
  const SmallFile status(path);
  snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const SmallFile stat(path);
  ProcessSignals result;
  uid_t uids[2];
  if (!read_numbers(status.text(), "\nUid:", 10, uids, 2)) return std::nullopt;
  if (!read_numbers(status.text(), "\nSigIgn:", 16, &result.ignored, 1)) return std::nullopt;
  if (!read_numbers(status.text(), "\nSigCgt:", 16, &result.caught, 1)) return std::nullopt;
  result.real_uid = uids[0];
  result.effective_uid = uids[1];
  result.start_time = start_time_in(stat.text());
  if (result.start_time == 0) return std::nullopt;
  return result;
}

bool all_threads_block(pid_t pid, int signal) noexcept {
  // One of the guard's own may be at work for the moment, as when pressure has just risen.
  constexpr timespec kNap{0, 1'000'000};
  for (int look = 0; look < 50; ++look) {
    const Blocks all = look_at_threads(pid, signal);
    if (all != Blocks::InPassing) return all == Blocks::Yes;
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &kNap, nullptr);
  }
  return false;
}

}  // namespace vramguard
