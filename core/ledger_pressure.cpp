// The pressure of one device's budget: compared with on the allocation path, evaluated by the guard's own thread.
#include <algorithm>
#include <utility>

#include "core/ledger.h"

namespace vramguard {

void Ledger::compare_with_boundaries(Bytes used) noexcept {
  if (used < quiet_from_.load() || used > quiet_to_.load()) request_wake();
}

void Ledger::request_wake() noexcept {
  if (!wake_requested_.exchange(true) && wake_ != nullptr) wake_(wake_context_);
}

void Ledger::set_thresholds(const PressureConfig& config) noexcept {
  thresholds_ = config;
  thresholds_changed_ = true;
}

void Ledger::oom_was_returned(MonotonicTime now) noexcept {
  const MonotonicTime::rep at = now.time_since_epoch().count();
  MonotonicTime::rep last = last_oom_.load();
  while (last < at && !last_oom_.compare_exchange_weak(last, at)) {
  }
  request_wake();
}

std::optional<PressureTransition> Ledger::evaluate_pressure(MonotonicTime now) noexcept {
  // Before anything is read: a change that comes after the reading finds the request withdrawn and makes a new one.
  wake_requested_.exchange(false);

  const Bytes limit = budget();
  if (limit != tracker_.boundaries().budget || std::exchange(thresholds_changed_, false))
    tracker_.set_boundaries(compile(thresholds_, limit));
  if (const MonotonicTime::rep last_oom = last_oom_.load(); last_oom != last_oom_seen_) {
    last_oom_seen_ = last_oom;
    tracker_.oom_returned(MonotonicTime(MonotonicTime::duration(last_oom)));
  }
  const Bytes others = share_ != nullptr ? share_->others_used() : 0;
  const Bytes used_now = used() + others;
  std::optional<PressureTransition> transition = tracker_.evaluate(now, free_of(limit, used_now));
  if (transition) transition->used = used_now;
  level_.store(tracker_.published());

  const PressureTracker::QuietRange quiet = tracker_.quiet_range();
  const auto own_at = [&](Bytes free) {
    return limit - std::min(limit, free) - std::min(limit - std::min(limit, free), others);
  };
  quiet_from_.store(own_at(quiet.most));
  quiet_to_.store(quiet.least == 0 || limit == kUnlimitedBytes ? UINT64_MAX : own_at(quiet.least));
  // A change between the reading and the new boundaries was compared with the old ones.
  compare_with_boundaries(used());
  return transition;
}

MonotonicTime Ledger::next_evaluation() const noexcept { return tracker_.next_deadline(); }
PressureLevel Ledger::pressure_level() const noexcept { return level_.load(); }

}  // namespace vramguard
