#include "core/statistics.h"

#include <algorithm>

namespace vramguard {

Bytes Statistics::grow(Bytes bytes) noexcept {
  const Bytes used = used_->fetch_add(bytes) + bytes;
  raise_peak(used);
  return used;
}

Bytes Statistics::shrink(Bytes bytes) noexcept { return used_->fetch_sub(bytes) - bytes; }

void Statistics::raise_peak(Bytes used) noexcept {
  Bytes peak = peak_.load(std::memory_order_relaxed);
  while (peak < used && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

void Statistics::reset_peak() noexcept {
  peak_.store(0, std::memory_order_relaxed);
  raise_peak(used());
}

Statistics::Snapshot Statistics::snapshot() const noexcept {
  const Bytes used_now = used();
  return {used_now, std::max(used_now, peak_.load(std::memory_order_relaxed)),
          allocations_.load(std::memory_order_relaxed), frees_.load(std::memory_order_relaxed),
          refusals_.load(std::memory_order_relaxed)};
}

}  // namespace vramguard
