// One deadline for the requests that a thread makes in quick succession: an allocator that asks for less and less must
// not wait anew each time.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "core/clock.h"

namespace vramguard {

// Thread-safe. Of fixed size: the oldest entry goes first.
class WaitDeadlines {
 public:
  // Requests of one thread belong together when no more than this lies between them.
  static constexpr std::chrono::seconds kSuccession{2};

  // Until when `thread` may wait; `timeout` from now on unless this continues what it waited for before.
  MonotonicTime of(std::uint64_t thread, MonotonicTime now, std::chrono::milliseconds timeout) noexcept;
  // `thread` has stopped waiting. Got what it asked for: its next request is a new one.
  void ended(std::uint64_t thread, MonotonicTime now, bool served) noexcept;

 private:
  struct Entry {
    std::uint64_t thread = 0;  // 0: empty
    MonotonicTime deadline{}, ended{};
  };
  std::mutex mutex_;
  std::array<Entry, 64> entries_{};
  std::size_t next_ = 0;
};

}  // namespace vramguard
