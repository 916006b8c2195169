// Waiting for a word of memory to change, and nothing more: no cancellation point, no lock that a fork could copy.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

#include "core/clock.h"

namespace vramguard {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Within this process, or with all that map the memory.
enum class FutexScope : int { Private = FUTEX_PRIVATE_FLAG, Shared = 0 };

// Returns when `word` no longer holds `expected`, at `until`, when woken, or for no reason.
inline void futex_wait(std::uint32_t& word, std::uint32_t expected, MonotonicTime until, FutexScope scope) noexcept {
  timespec time{};
  const timespec* limit = nullptr;
  if (until != MonotonicTime::max()) {
    const auto since = until.time_since_epoch();
    if (since.count() <= 0) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    time.tv_sec = static_cast<time_t>(seconds.count());
    time.tv_nsec = static_cast<long>(std::chrono::nanoseconds(since - seconds).count());
    limit = &time;
  }
  // WAIT_BITSET because it takes an absolute time of CLOCK_MONOTONIC, which is what MonotonicTime is.
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | static_cast<int>(scope), expected, limit, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, MonotonicTime until,
                       FutexScope scope = FutexScope::Private) noexcept {
  futex_wait(reinterpret_cast<std::uint32_t&>(word), expected, until, scope);
}

inline void futex_wake_all(std::uint32_t& word, FutexScope scope) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE | static_cast<int>(scope), INT_MAX);
}
inline void futex_wake_all(std::atomic<std::uint32_t>& word, FutexScope scope = FutexScope::Private) noexcept {
  futex_wake_all(reinterpret_cast<std::uint32_t&>(word), scope);
}

}  // namespace vramguard
