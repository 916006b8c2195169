// The helper process of a command: times it, drains its output, ends it, collects it. Raw system calls alone.
#include "core/command_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "core/raw_syscall.h"

// The ends of this module, as the linker knows them.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];

namespace vramguard {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kGrace = std::int64_t{Command::kGrace.count()} * 1'000'000;
constexpr std::int64_t kUnkillable = kSecond;  // stuck in a device or a file system: left behind after that
constexpr std::int64_t kLookAround = kSecond;  // for the end of the program, should its signal not come
constexpr int kWakeDescriptor = 3;

std::int64_t now() noexcept {
  timespec time;
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, raw_argument(&time));
  return time.tv_sec * kSecond + time.tv_nsec;
}

// The program has ended. Everything mapped goes but this module: its files, among them those of the card, stay open
// otherwise.
void drop_memory() noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(__ehdr_start);
  raw_syscall(SYS_munmap, 0, static_cast<long>(begin));
  // An address between two pages, and more than the system has, are errors: from the smallest page and the largest
  // address space on.
  for (const std::uintptr_t page : {4096, 16384, 65536}) {
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(_end) + page - 1) / page * page;
    for (const int bits : {52, 48, 47, 42, 39, 36}) {
      const std::uintptr_t top = (std::uintptr_t{1} << bits) - (bits == 47 ? 4096 : 0);
      if (top > end && raw_syscall(SYS_munmap, static_cast<long>(end), static_cast<long>(top - end)) == 0) return;
    }
  }
}

struct Watch {
  enum class Phase { Running, Terminating, Killed };

  CommandBlock* block;
  bool program_ended = false;
  bool command_ended = false;
  bool output_ended = false;
  bool children_left = true;
  Phase phase = Phase::Running;
  std::int64_t started = 0;
  std::int64_t deadline = 0;

  void look_at_program() noexcept {
    if (program_ended) return;
    // Another thread takes the place of a parent that ends; 0: the parent is in another pid namespace.
    const long parent = raw_syscall(SYS_getppid);
    if (parent == block->host || parent == 0) return;
    program_ended = true;
    if (block->started != 0) drop_memory();
  }

  // The orphans of the command are ours as well while we are there.
  void collect() noexcept {
    for (;;) {
      int status = 0;
      const long pid = raw_syscall(SYS_wait4, -1, raw_argument(&status), WNOHANG);
      if (pid == 0) return;
      if (pid < 0) {
        children_left = false;
        return;
      }
      if (pid != block->command) continue;
      command_ended = true;
      block->duration_ns = now() - started;
      if (phase == Phase::Running) block->status = status;
    }
  }

  // False when there is nothing to read.
  bool drain() noexcept {
    if (output_ended) return false;
    const long size = raw_syscall(SYS_read, 1, raw_argument(block->scratch), sizeof block->scratch);
    if (size == 0 || (size < 0 && size != -EAGAIN && size != -EINTR)) output_ended = true;
    for (long i = 0; i < size && block->output_bytes < sizeof block->output; ++i) {
      block->output[block->output_bytes++] = block->scratch[i];
    }
    return size > 0;
  }

  bool over() const noexcept {
    if (!command_ended) return false;
    // What it started may still be on its way out.
    return phase == Phase::Running || !children_left || raw_syscall(SYS_kill, -block->command, 0) == -ESRCH;
  }

  void signal_group(int signal) noexcept {
    block->timed_out = 1;
    block->status = signal;
    raw_syscall(SYS_kill, -block->command, signal);
  }

  // False: what is left cannot be killed.
  bool act(std::int64_t time) noexcept {
    if (phase != Phase::Killed && __atomic_load_n(&block->stop, __ATOMIC_ACQUIRE) != 0) {
      phase = Phase::Terminating;
      deadline = time;
    }
    if (time < deadline) return true;
    if (phase == Phase::Killed) return false;
    if (phase == Phase::Running) {
      phase = Phase::Terminating;
      deadline += kGrace;
      signal_group(SIGTERM);
    } else {
      phase = Phase::Killed;
      deadline = time + kUnkillable;
      signal_group(SIGKILL);
    }
    return true;
  }

  void sleep(std::int64_t time) const noexcept {
    const std::int64_t left = deadline - time < kLookAround ? deadline - time : kLookAround;
    timespec limit;
    limit.tv_sec = left > 0 ? left / kSecond : 0;
    limit.tv_nsec = left > 0 ? left % kSecond : 0;
    pollfd waited[2];
    waited[0].fd = kWakeDescriptor;
    waited[0].events = POLLIN;
    waited[1].fd = output_ended ? -1 : 1;
    waited[1].events = POLLIN;
    raw_syscall(SYS_ppoll, raw_argument(waited), 2, raw_argument(&limit), 0, sizeof(std::uint64_t));
    char signals[512];
    while (raw_syscall(SYS_read, kWakeDescriptor, raw_argument(signals), sizeof signals) > 0) {
    }
  }

  void run() noexcept {
    for (;;) {
      look_at_program();
      drain();
      collect();
      if (over()) break;
      const std::int64_t time = now();
      if (!act(time)) break;
      if (time < deadline) sleep(time);
    }
    // A daemon that goes on writing must not keep us.
    for (int i = 0; i < 8 && block->output_bytes < sizeof block->output && drain(); ++i) {
    }
    if (!command_ended) block->duration_ns = now() - started;
  }
};

int open_wake_descriptor() noexcept {
  const std::uint64_t signals = std::uint64_t{1} << (SIGCHLD - 1) | std::uint64_t{1} << (kCommandWakeSignal - 1);
  const long fd = raw_syscall(SYS_signalfd4, -1, raw_argument(&signals), sizeof signals, O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return static_cast<int>(-fd);
  return fd == kWakeDescriptor ? 0 : EBADF;
}

// 0 or an errno.
int start(Watch& watch) noexcept {
  CommandBlock* const block = watch.block;
  block->helper = static_cast<pid_t>(raw_syscall(SYS_getpid));
  raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, kCommandWakeSignal);
  watch.look_at_program();
  if (watch.program_ended) return ESRCH;

  // Out of reach of what is meant for the program's group and terminal.
  raw_syscall(SYS_setsid);
  raw_syscall(SYS_prctl, PR_SET_NAME, raw_argument("vramguard-hook"));
  raw_syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  // A program that ignores SIGCHLD would leave us no status.
  const std::uint64_t by_default[4] = {0, 0, 0, 0};
  raw_syscall(SYS_rt_sigaction, SIGCHLD, raw_argument(by_default), 0, sizeof(std::uint64_t));

  int error = prepare_descriptors();
  if (error == 0) error = open_wake_descriptor();
  if (error != 0) return error;
  watch.started = now();
  const long pid = start_command(block);
  if (pid < 0) return static_cast<int>(-pid);
  block->command = static_cast<pid_t>(pid);
  __atomic_store_n(&block->started, 1U, __ATOMIC_RELEASE);
  raw_syscall(SYS_close, 2);
  watch.deadline = watch.started + block->timeout_ns;
  return 0;
}

}  // namespace

void run_command_helper(void* argument) noexcept {
  auto* const block = static_cast<CommandBlock*>(argument);
  Watch watch{block};
  block->error = start(watch);
  if (block->error == 0) watch.run();
  if (!watch.program_ended) {
    __atomic_store_n(&block->ended, 1U, __ATOMIC_RELEASE);
    if (block->on_end != nullptr) block->on_end(block->context);
  }
  for (;;) raw_syscall(SYS_exit_group, 0);
}

}  // namespace vramguard
