#include "core/attached_memory_guard.h"

#include <stdexcept>

namespace vramguard {

void AttachedMemoryGuard::start(Bytes budget, Bytes reserve) noexcept {
  const Bytes budget_before = guard_->stats().budget;
  if (budget > 0 && (budget_before == 0 || budget < budget_before)) {
    guard_->set_budget(budget);
    budget_ = {budget_before, guard_->stats().budget};
  }
  const Bytes reserve_before = guard_->reservation_wanted();
  if (reserve > reserve_before) {
    guard_->set_reservation(reserve);
    reservation_ = {reserve_before, guard_->reservation_wanted()};
  }
}

// What somebody has changed since is not put back.
void AttachedMemoryGuard::end() noexcept {
  guard_->forget_callbacks();
  if (reservation_ && guard_->reservation_wanted() == reservation_->after)
    guard_->set_reservation(reservation_->before);
  if (budget_ && guard_->stats().budget == budget_->after) guard_->set_budget(budget_->before);
}

// All that a request goes through happens inside the device's call.
DeviceMemory AttachedMemoryGuard::allocate(Bytes bytes, bool) {
  for (bool again = false;; again = true) {
    if (const std::optional<DeviceAddress> address = device().allocate(bytes)) {
      return memory_at(*address, bytes, guard_->stats().spilled > 0 && device().is_in_host_memory(*address));
    }
    const std::optional<ProcessGuard::Refusal> refusal = guard_->last_refusal();
    if (!again && refusal && refusal->deferred) continue;
    refuse(bytes, refusal);
  }
}

void AttachedMemoryGuard::refuse(Bytes bytes, const std::optional<ProcessGuard::Refusal>& refusal) const {
  if (!refusal || !refusal->by_budget) throw OutOfDeviceMemory(bytes, guard_->stats().device_free);
  throw BudgetExceeded(bytes, refusal->missing, refusal->used, refusal->reserved, refusal->budget);
}

void AttachedMemoryGuard::give_back(AddressRange range, bool) { device().free(range.address); }

}  // namespace vramguard
