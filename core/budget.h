// The bytes that calls may take from one device, admitted one atomic step at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/bytes.h"
#include "core/state/group_share.h"

namespace vramguard {

constexpr Bytes kUnlimitedBytes = UINT64_MAX;
// More than all devices have: such a request is not even announced to a group, whose sums must not overflow.
constexpr Bytes kMostShared = Bytes{1} << 50;

// What is left of `budget`: 0 when over it, kUnlimitedBytes without one.
constexpr Bytes free_of(Bytes budget, Bytes used) noexcept {
  if (budget == kUnlimitedBytes) return kUnlimitedBytes;
  return budget > used ? budget - used : 0;
}

// Thread-safe and lock-free. Counts also while unlimited, so that a budget set later starts from the truth.
class Budget {
 public:
  explicit Budget(Bytes limit) noexcept : limit_(limit) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // All of `bytes` or nothing. Also false for 0 bytes while more is admitted than the limit.
  bool try_reserve(Bytes bytes) noexcept {
    if (share_ != nullptr) return bytes <= std::min(limit(), kMostShared) && share_->admit(bytes, limit());
    Bytes admitted = admitted_->load(std::memory_order_relaxed);
    do {
      if (!fits(admitted, bytes, limit())) return false;
    } while (!admitted_->compare_exchange_weak(admitted, admitted + bytes, std::memory_order_relaxed));
    return true;
  }
  // For what the device has already given: counts even beyond the limit.
  void charge(Bytes bytes) noexcept;
  // Giving back more than is admitted is a fault in the books: asserted in debug builds, otherwise clamped and counted.
  void give_back(Bytes bytes) noexcept;

  // What try_reserve would have answered at this moment.
  bool would_fit(Bytes bytes) const noexcept { return fits(admitted() + admitted_by_others(), bytes, limit()); }

  // From now on the limit is for the whole group. Before anything is reserved; `share` lives as long as this.
  void share_with(const GroupShare& share) noexcept {
    share_ = &share;
    admitted_ = &share.own().announced;
  }
  Bytes admitted_by_others() const noexcept { return share_ != nullptr ? share_->others_announced() : 0; }

  Bytes limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  void set_limit(Bytes limit) noexcept { limit_.store(limit, std::memory_order_relaxed); }

  // Bytes admitted, including calls still inside the driver; not the same as bytes the GPU has in use.
  Bytes admitted() const noexcept { return admitted_->load(std::memory_order_relaxed); }
  std::uint64_t inconsistencies() const noexcept { return inconsistencies_.load(std::memory_order_relaxed); }

 private:
  static bool fits(Bytes admitted, Bytes bytes, Bytes limit) noexcept {
    return admitted <= limit && bytes <= limit - admitted;
  }

  // Relaxed throughout: the numbers guard no other data, and one variable alone decides what is admitted. Not so with a
  // group; GroupShare says how.
  std::atomic<Bytes> own_{0};
  std::atomic<Bytes>* admitted_ = &own_;
  const GroupShare* share_ = nullptr;
  std::atomic<Bytes> limit_;
  std::atomic<std::uint64_t> inconsistencies_{0};
};

}  // namespace vramguard
