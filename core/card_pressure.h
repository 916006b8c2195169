// The pressure of the card as a whole, whoever uses it.
#pragma once

#include <atomic>
#include <optional>

#include "core/pressure_tracker.h"

namespace vramguard {

// oom_was_returned() from any thread; the rest belongs to the thread that evaluates.
class CardPressure {
 public:
  void set_boundaries(const PressureConfig& config, Bytes total) noexcept {
    tracker_.set_boundaries(compile(config, total));
  }
  void oom_was_returned(MonotonicTime now) noexcept { last_oom_.store(now.time_since_epoch().count()); }

  std::optional<PressureTransition> evaluate(MonotonicTime now, Bytes card_free) noexcept {
    if (const MonotonicTime::rep last = last_oom_.exchange(kNever); last != kNever) {
      tracker_.oom_returned(MonotonicTime(MonotonicTime::duration(last)));
    }
    std::optional<PressureTransition> transition = tracker_.evaluate(now, card_free);
    if (transition) transition->used = transition->budget - std::min(transition->budget, card_free);
    return transition;
  }
  PressureLevel published() const noexcept { return tracker_.published(); }
  MonotonicTime next_deadline() const noexcept { return tracker_.next_deadline(); }

 private:
  static constexpr MonotonicTime::rep kNever = MonotonicTime::min().time_since_epoch().count();
  std::atomic<MonotonicTime::rep> last_oom_{kNever};
  PressureTracker tracker_;
};

}  // namespace vramguard
