// Turns free bytes and time into published pressure levels: thresholds, hysteresis, dwell, and the rate of records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/clock.h"
#include "core/pressure.h"

namespace vramguard {

// Belongs to one thread. Knows nothing of where `free` comes from, and of time only what it is told.
//
// Each level is held by its own rule: entered when free <= its threshold (low and medium: for 500 ms), left when free >
// threshold + hysteresis for 2 s. Entering a level by free bytes enters those below it. The level is the highest one
// held; so a fall goes straight to the highest level whose own rule still holds it, in whatever order they were
// entered.
class PressureTracker {
 public:
  // Free bytes from `least` to `most`, within which nothing but time can change the level.
  struct QuietRange {
    Bytes least = 0;
    Bytes most = UINT64_MAX;
  };

  void set_boundaries(const PressureBoundaries& boundaries) noexcept { boundaries_ = boundaries; }
  const PressureBoundaries& boundaries() const noexcept { return boundaries_; }

  // Enters critical, and holds it for 2 s from `at`.
  void oom_returned(MonotonicTime at) noexcept;

  // The transition to publish now, if any; its `used` is left 0 for the caller to fill in.
  std::optional<PressureTransition> evaluate(MonotonicTime now, Bytes free) noexcept;

  PressureLevel published() const noexcept { return published_; }

  // As of the last evaluate(): when to evaluate again although free stays in quiet_range(); max() if never.
  MonotonicTime next_deadline() const noexcept { return next_deadline_; }
  QuietRange quiet_range() const noexcept { return quiet_range_; }

 private:
  static constexpr std::size_t kLevels = 4;  // Low to Critical
  struct Held {
    bool held = false;
    std::optional<MonotonicTime> flips_since;  // since when the condition for the other state has been true
  };

  void enter_down_from(std::size_t index) noexcept;
  void update_level(std::size_t index, MonotonicTime now, Bytes free) noexcept;
  MonotonicTime flip_time(std::size_t index) const noexcept;
  Bytes turning_point(std::size_t index) const noexcept;
  PressureLevel level() const noexcept;
  void plan(MonotonicTime now, Bytes free) noexcept;

  PressureBoundaries boundaries_;
  std::array<Held, kLevels> levels_;
  std::optional<MonotonicTime> last_oom_;
  bool oom_is_new_ = false;

  PressureLevel published_ = PressureLevel::None;
  std::optional<MonotonicTime> published_at_;

  MonotonicTime next_deadline_ = MonotonicTime::max();
  QuietRange quiet_range_;
};

}  // namespace vramguard
