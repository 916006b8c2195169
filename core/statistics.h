// What one device's guard has seen: use, its peak, and how often things happened.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/bytes.h"

namespace vramguard {

// Thread-safe and lock-free.
class Statistics {
 public:
  struct Snapshot {
    Bytes used;
    Bytes peak;
    std::uint64_t allocations;
    std::uint64_t frees;
    std::uint64_t refusals;
  };

  // Both return the new use. The peak is that of each moment's sum, whoever else grows or shrinks at the same time.
  Bytes grow(Bytes bytes) noexcept;
  Bytes shrink(Bytes bytes) noexcept;

  void count_allocation() noexcept { allocations_.fetch_add(1, std::memory_order_relaxed); }
  void count_free() noexcept { frees_.fetch_add(1, std::memory_order_relaxed); }
  void count_refusal() noexcept { refusals_.fetch_add(1, std::memory_order_relaxed); }

  // From now on the use is counted in `used`, where others see it. Before anything is.
  void count_use_in(std::atomic<Bytes>& used) noexcept { used_ = &used; }

  Bytes used() const noexcept { return used_->load(); }
  void reset_peak() noexcept;  // to the present use
  // Each number is right for itself; together they are of one moment only while nobody changes them, except that peak
  // is never below used.
  Snapshot snapshot() const noexcept;

 private:
  void raise_peak(Bytes used) noexcept;

  std::atomic<Bytes> own_{0};
  std::atomic<Bytes>* used_ = &own_;
  std::atomic<Bytes> peak_{0};
  std::atomic<std::uint64_t> allocations_{0};
  std::atomic<std::uint64_t> frees_{0};
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace vramguard
