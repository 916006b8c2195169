// What may be admitted: the budget, the card's ceiling, and the place that a sentinel takes.
#include <algorithm>

#include "core/ledger.h"

namespace vramguard {

void Ledger::settle_sentinel(Reservation& reservation) noexcept {
  show_sentinel(sentinel_.fetch_add(reservation.bytes_) + reservation.bytes_);
  reservation.bytes_ = 0;
  reservation.end();
}

void Ledger::release_sentinel(Bytes bytes) noexcept {
  show_sentinel(sentinel_.fetch_sub(bytes) - bytes);
  give_back(bytes);
}

void Ledger::show_sentinel(Bytes bytes) noexcept {
  if (share_ != nullptr) share_->own().sentinel.store(bytes);
}

Bytes Ledger::sentinel_of_group() const noexcept {
  return sentinel() + (share_ != nullptr ? share_->others_sentinel() : 0);
}

void Ledger::set_budget(Bytes budget) noexcept {
  budget_bytes_.store(budget);
  apply_limit();
  request_wake();
}

void Ledger::set_ceiling(Bytes admitted_at_most) noexcept {
  if (ceiling_.exchange(admitted_at_most) != admitted_at_most) apply_limit();
}

void Ledger::observe() noexcept {
  observing_.store(true);
  apply_limit();
}

void Ledger::apply_limit() noexcept {
  const std::lock_guard lock(measured_mutex_);  // two changes at once must not leave the older one behind
  budget_.set_limit(observing_.load() ? kUnlimitedBytes : std::min(budget_bytes_.load(), ceiling_.load()));
  room_.made();
}

bool Ledger::ceiling_is_lower(Bytes bytes) const noexcept {
  const Bytes limit = budget(), admitted_now = admitted_by_group();
  return ceiling_.load() < limit && admitted_now <= limit && bytes <= limit - admitted_now;
}

Bytes Ledger::excess() const noexcept {
  const Bytes limit = budget_.limit(), admitted_now = admitted_by_group();
  return admitted_now - std::min(admitted_now, limit);
}

Bytes Ledger::admitted_by_group() const noexcept { return admitted() + budget_.admitted_by_others(); }
Bytes Ledger::unreserved() const noexcept { return free_of(budget_.limit(), admitted_by_group()); }

Bytes Ledger::short_of(Bytes bytes) const noexcept {
  const Bytes room = unreserved();
  return bytes > room ? bytes - room : 0;
}

Bytes Ledger::would_be_short_of(Bytes bytes) const noexcept {
  const Bytes room = free_of(std::min(budget(), ceiling_.load()), admitted_by_group());
  return bytes > room ? bytes - room : 0;
}

}  // namespace vramguard
