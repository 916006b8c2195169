// Remembers what was refused a moment ago: programs that free their own caches ask again at once, and only then is it
// time for hooks and policies.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/bytes.h"
#include "core/clock.h"

namespace vramguard {

// Thread-safe. Of fixed size: the oldest entry goes first.
class Deferral {
 public:
  // How soon a thread asks again after it has freed what it can.
  static constexpr std::chrono::seconds kMemory{10};

  // True the first time that `thread` is refused `bytes`; asked again within kMemory, false.
  bool is_first(std::uint64_t thread, Bytes bytes, MonotonicTime now) noexcept;
  // `thread` got `bytes` after all: its next refusal is a first one again.
  void served(std::uint64_t thread, Bytes bytes) noexcept;
  // Whether served() is worth calling.
  bool any() const noexcept { return known_.load(std::memory_order_relaxed) > 0; }

 private:
  struct Entry {
    std::uint64_t thread = 0;  // 0: empty
    Bytes bytes = 0;
    MonotonicTime at{};
  };
  Entry* find(std::uint64_t thread, Bytes bytes) noexcept;
  void forget(Entry& entry) noexcept;

  std::mutex mutex_;
  std::atomic<unsigned> known_{0};
  std::array<Entry, 128> entries_{};  // allocators that ask for less and less take up to 90 steps
  std::size_t next_ = 0;
};

}  // namespace vramguard
