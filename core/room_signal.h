// Tells threads that wait for memory that there may be more of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/futex.h"

namespace vramguard {

// Thread-safe. Costs those who give memory back one look at a number while nobody waits.
class RoomSignal {
 public:
  // Taken before looking whether there is room; a wait for it returns at once when room was made since.
  std::uint32_t now() const noexcept { return rounds_.load(); }

  void made() noexcept {
    if (waiting_.load() == 0) return;
    rounds_.fetch_add(1);
    futex_wake_all(rounds_);
  }

  // Until there may be more room than at `seen`, at the latest until `until`; may return early for no reason.
  void wait(std::uint32_t seen, MonotonicTime until) noexcept { futex_wait(rounds_, seen, until); }

  // While one of these lives, made() is heard. Take it before now().
  class Listening {
   public:
    explicit Listening(RoomSignal& signal) noexcept : signal_(signal) { signal_.waiting_.fetch_add(1); }
    ~Listening() { signal_.waiting_.fetch_sub(1); }
    Listening(const Listening&) = delete;

   private:
    RoomSignal& signal_;
  };

 private:
  std::atomic<std::uint32_t> rounds_{0};
  std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace vramguard
