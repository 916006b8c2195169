#include "core/command.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

#include "core/command_helper.h"
#include "core/raw_syscall.h"

namespace vramguard {

namespace {

constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::hours(24 * 365);

bool alive(const CommandBlock* block) noexcept { return __atomic_load_n(&block->alive, __ATOMIC_ACQUIRE) != 0; }

// The kernel wakes one waiter, and not on a private futex.
void wait_while_alive(CommandBlock* block, MonotonicTime until) noexcept {
  const auto since = std::max(until.time_since_epoch(), MonotonicTime::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds.count());
  time.tv_nsec = static_cast<long>(std::chrono::nanoseconds(since - seconds).count());
  raw_syscall(SYS_futex, raw_argument(&block->alive), FUTEX_WAIT_BITSET, 1,
              until == MonotonicTime::max() ? 0 : raw_argument(&time), 0, static_cast<long>(FUTEX_BITSET_MATCH_ANY));
}

void wake_other_waiters(CommandBlock* block) noexcept {
  raw_syscall(SYS_futex, raw_argument(&block->alive), FUTEX_WAKE, INT_MAX);
}

// Static memory: when the program has ended, this module is all that is kept, for all helpers.
alignas(4096) char g_slots[Command::kMostAtOnce][kSlotBytes];
std::uint32_t g_slots_in_use;

std::size_t slot_of(const CommandBlock* block) noexcept {
  return static_cast<std::size_t>(reinterpret_cast<const char*>(block) - g_slots[0]) / kSlotBytes;
}

// Null when all are in use.
CommandBlock* claim_command_block() noexcept {
  std::uint32_t used = __atomic_load_n(&g_slots_in_use, __ATOMIC_RELAXED);
  for (;;) {
    const auto index = static_cast<std::size_t>(__builtin_ctz(~used));
    if (index >= Command::kMostAtOnce) return nullptr;
    const std::uint32_t bit = 1U << index;
    if (!__atomic_compare_exchange_n(&g_slots_in_use, &used, used | bit, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      continue;
    }
    return reinterpret_cast<CommandBlock*>(g_slots[index] + kSlotBytes - kBlockBytes);
  }
}

void return_command_block(CommandBlock* block) noexcept {
  __atomic_fetch_and(&g_slots_in_use, ~(1U << slot_of(block)), __ATOMIC_RELEASE);
}

}  // namespace

bool Command::start(const CommandSpec& spec, void (*on_end)(void*) noexcept, void* context) noexcept {
  if (block_.load(std::memory_order_acquire) != nullptr) return false;
  helper_ = 0;
  error_ = EINVAL;
  if (spec.argv == nullptr || spec.argv[0] == nullptr || spec.environment == nullptr) return false;
  error_ = EAGAIN;
  CommandBlock* const block = claim_command_block();
  if (block == nullptr) return false;

  *block = CommandBlock{};
  block->argv = spec.argv;
  block->environment = spec.environment;
  const auto timeout = std::clamp(spec.timeout, std::chrono::milliseconds(0), kLongestTimeout);
  block->timeout_ns = std::chrono::nanoseconds(timeout).count();
  block->on_end = on_end;
  block->context = context;
  block->host = static_cast<pid_t>(raw_syscall(SYS_getpid));
  block->alive = 1;

  // The helper keeps them blocked for good: the program's handlers must not run in it. The C library's own two signals
  // are among them, for this short time.
  const std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t mask = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_argument(&all), raw_argument(&mask), sizeof mask);
  // Not CLONE_VFORK: a thread that stands still here would hold up the program's setresuid, which signals them all.
  const long pid =
      raw_clone(CLONE_VM | CLONE_CHILD_CLEARTID, helper_stack_end(block), &block->alive, run_command_helper, block);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_argument(&mask), 0, sizeof mask);
  if (pid < 0) {
    error_ = static_cast<int>(-pid);
    return_command_block(block);
    return false;
  }
  error_ = 0;
  helper_ = static_cast<pid_t>(pid);
  block_.store(block, std::memory_order_release);
  return true;
}

bool Command::finished() const noexcept {
  const CommandBlock* const block = block_.load(std::memory_order_acquire);
  return block == nullptr || __atomic_load_n(&block->ended, __ATOMIC_ACQUIRE) != 0 || !alive(block);
}

pid_t Command::pid() const noexcept {
  const CommandBlock* const block = block_.load(std::memory_order_acquire);
  return block != nullptr && __atomic_load_n(&block->started, __ATOMIC_ACQUIRE) != 0 ? block->command : 0;
}

bool Command::wait_until(MonotonicTime deadline) noexcept {
  while (!finished()) {
    CommandBlock* const block = block_.load(std::memory_order_acquire);
    if (block == nullptr) break;
    if (deadline != MonotonicTime::max() && std::chrono::steady_clock::now() >= deadline) return false;
    wait_while_alive(block, deadline);
    if (!alive(block)) wake_other_waiters(block);
  }
  return true;
}

CommandResult Command::take_result() noexcept {
  CommandResult result;
  CommandBlock* const block = block_.load(std::memory_order_acquire);
  if (block == nullptr) {
    result.code = error_;
    return result;
  }
  // Until then it runs on the block.
  while (alive(block)) wait_while_alive(block, MonotonicTime::max());
  wake_other_waiters(block);
  // A program that waits with __WALL may have been faster.
  while (raw_syscall(SYS_wait4, helper_, 0, __WALL) == -EINTR) {
  }

  result.pid = block->command;
  result.duration = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(block->duration_ns));
  const std::size_t output_bytes = std::min(block->output_bytes, sizeof output_);
  std::copy_n(block->output, output_bytes, output_);
  result.output = std::string_view(output_, output_bytes);
  if (block->started == 0) {
    result.outcome = CommandResult::Outcome::CannotStart;
    result.code = block->error != 0 ? block->error : ECHILD;  // killed before it came that far
  } else if (block->timed_out != 0) {
    result.outcome = CommandResult::Outcome::TimedOut;
    result.code = block->status;
  } else if (block->ended == 0) {  // a helper that is killed takes the command along
    result.outcome = CommandResult::Outcome::Signaled;
    result.code = SIGKILL;
  } else if (WIFSIGNALED(block->status)) {
    result.outcome = CommandResult::Outcome::Signaled;
    result.code = WTERMSIG(block->status);
  } else {
    result.outcome = CommandResult::Outcome::Exited;
    result.code = WEXITSTATUS(block->status);
  }
  block_.store(nullptr, std::memory_order_release);
  return_command_block(block);
  return result;
}

Command::~Command() {
  CommandBlock* const block = block_.load(std::memory_order_acquire);
  if (block == nullptr) return;
  block->on_end = nullptr;
  __atomic_store_n(&block->stop, 1U, __ATOMIC_RELEASE);
  raw_syscall(SYS_kill, helper_, kCommandWakeSignal);
  take_result();
}

}  // namespace vramguard
