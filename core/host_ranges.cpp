#include "core/host_ranges.h"

namespace vramguard {

bool HostRanges::add(std::uint64_t address, Bytes bytes) noexcept try {
  const std::lock_guard lock(mutex_);
  ranges_.insert_or_assign(address, bytes);
  count_.store(ranges_.size(), std::memory_order_relaxed);
  return true;
} catch (...) {
  return false;
}

void HostRanges::remove(std::uint64_t address) noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  ranges_.erase(address);
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

bool HostRanges::overlaps(std::uint64_t address, Bytes bytes) const noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(mutex_);
  auto next = ranges_.upper_bound(address);
  if (next != ranges_.end() && next->first - address < bytes) return true;
  if (next == ranges_.begin()) return false;
  --next;
  return address - next->first < next->second;
}

}  // namespace vramguard
