#include "core/budget.h"

#include <cassert>

namespace vramguard {

void Budget::charge(Bytes bytes) noexcept {
  Bytes admitted = admitted_->load(std::memory_order_relaxed);
  Bytes sum = 0;
  do {
    sum = bytes > UINT64_MAX - admitted ? UINT64_MAX : admitted + bytes;
  } while (!admitted_->compare_exchange_weak(admitted, sum, std::memory_order_relaxed));
}

void Budget::give_back(Bytes bytes) noexcept {
  Bytes admitted = admitted_->load(std::memory_order_relaxed);
  Bytes rest = 0;
  do {
    rest = bytes > admitted ? 0 : admitted - bytes;
  } while (!admitted_->compare_exchange_weak(admitted, rest, std::memory_order_relaxed));
  if (bytes <= admitted) return;
  inconsistencies_.fetch_add(1, std::memory_order_relaxed);
  assert(false && "more given back than was admitted");
}

}  // namespace vramguard
