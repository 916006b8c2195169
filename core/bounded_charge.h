// Bytes that only the driver knows exactly, and only when it is asked: between two readings, an upper bound.
#pragma once

#include <atomic>

#include "core/bytes.h"

namespace vramguard {

// Thread-safe, but for read(): one thread at a time. The bound holds under any interleaving: what calls took after a
// reader's mark is added to what it read, whether the driver had already counted it or not.
class BoundedCharge {
 public:
  // Taken before the driver is asked.
  using Mark = Bytes;
  // What a reading changed, modulo 2^64.
  struct Change {
    Bytes known;
    Bytes bound;
  };

  // A call has ended that took at most `most`.
  void add(Bytes most) noexcept { asked_.fetch_add(most, std::memory_order_relaxed); }

  Mark mark() const noexcept { return asked_.load(std::memory_order_relaxed); }
  // `bytes` is what the driver said after `mark`.
  Change read(Mark mark, Bytes bytes) noexcept {
    const Bytes base = bytes - mark;  // modulo 2^64
    const Change change{bytes - known_.load(std::memory_order_relaxed), base - base_.load(std::memory_order_relaxed)};
    known_.store(bytes, std::memory_order_relaxed);
    base_.store(base, std::memory_order_relaxed);
    return change;
  }

  // As last read.
  Bytes known() const noexcept { return known_.load(std::memory_order_relaxed); }
  // What may have been taken since. Exact only while nobody reads.
  Bytes unread() const noexcept { return base_.load(std::memory_order_relaxed) + mark() - known(); }

 private:
  std::atomic<Bytes> asked_{0};
  std::atomic<Bytes> base_{0};  // bound = base + asked
  std::atomic<Bytes> known_{0};
};

}  // namespace vramguard
