#include "core/pressure_tracker.h"

#include <algorithm>
#include <chrono>

namespace vramguard {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLeaveAfter{2000};
constexpr milliseconds kHoldAfterOom{2000};
constexpr milliseconds kBetweenRecords{250};
constexpr std::array<milliseconds, 4> kEnterAfter{milliseconds(500), milliseconds(500), milliseconds(0),
                                                  milliseconds(0)};

constexpr std::size_t kCriticalIndex = 3;

constexpr PressureLevel level_at(std::size_t index) { return static_cast<PressureLevel>(index + 1); }

}  // namespace

void PressureTracker::oom_returned(MonotonicTime at) noexcept {
  last_oom_ = last_oom_ ? std::max(*last_oom_, at) : at;
  oom_is_new_ = true;
}

std::optional<PressureTransition> PressureTracker::evaluate(MonotonicTime now, Bytes free) noexcept {
  if (boundaries_.budget == kUnlimitedBytes) {
    levels_ = {};
    oom_is_new_ = false;
  }
  if (oom_is_new_) {
    if (!levels_[kCriticalIndex].held) levels_[kCriticalIndex] = {true, {}};
    oom_is_new_ = false;
  }
  if (boundaries_.budget != kUnlimitedBytes) {
    for (std::size_t index = 0; index < kLevels; ++index) update_level(index, now, free);
  }

  std::optional<PressureTransition> transition;
  const PressureLevel current = level();
  const bool may_publish =
      current == PressureLevel::Critical || !published_at_ || now >= *published_at_ + kBetweenRecords;
  if (current != published_ && may_publish) {
    transition = PressureTransition{published_, current, free, 0, boundaries_.budget};
    published_ = current;
    published_at_ = now;
  }
  plan(now, free);
  return transition;
}

void PressureTracker::update_level(std::size_t index, MonotonicTime now, Bytes free) noexcept {
  Held& level = levels_[index];
  const bool wants_to_flip = level.held ? free > turning_point(index) : free <= turning_point(index);
  if (!wants_to_flip) {
    level.flips_since.reset();
    return;
  }
  if (!level.flips_since) level.flips_since = now;
  if (now < flip_time(index)) return;
  if (level.held) {
    level = {};
  } else {
    enter_down_from(index);
  }
}

void PressureTracker::enter_down_from(std::size_t index) noexcept {
  for (std::size_t lower = 0; lower <= index; ++lower) {
    if (!levels_[lower].held) levels_[lower] = {true, {}};
  }
}

MonotonicTime PressureTracker::flip_time(std::size_t index) const noexcept {
  const Held& level = levels_[index];
  if (!level.flips_since) return MonotonicTime::max();
  if (!level.held) return *level.flips_since + kEnterAfter[index];
  const MonotonicTime leave = *level.flips_since + kLeaveAfter;
  return index == kCriticalIndex && last_oom_ ? std::max(leave, *last_oom_ + kHoldAfterOom) : leave;
}

Bytes PressureTracker::turning_point(std::size_t index) const noexcept {
  const Bytes threshold = boundaries_.threshold(level_at(index));
  if (!levels_[index].held) return threshold;
  return threshold > UINT64_MAX - boundaries_.hysteresis ? UINT64_MAX : threshold + boundaries_.hysteresis;
}

PressureLevel PressureTracker::level() const noexcept {
  for (std::size_t index = kLevels; index-- > 0;) {
    if (levels_[index].held) return level_at(index);
  }
  return PressureLevel::None;
}

void PressureTracker::plan(MonotonicTime now, Bytes free) noexcept {
  next_deadline_ = MonotonicTime::max();
  quiet_range_ = {};
  if (level() != published_ && published_at_) next_deadline_ = std::max(now, *published_at_ + kBetweenRecords);
  if (boundaries_.budget == kUnlimitedBytes) return;
  for (std::size_t index = 0; index < kLevels; ++index) {
    next_deadline_ = std::min(next_deadline_, flip_time(index));
    const Bytes point = turning_point(index);
    if (free <= point) {
      quiet_range_.most = std::min(quiet_range_.most, point);
    } else {
      quiet_range_.least = std::max(quiet_range_.least, point + 1);
    }
  }
}

}  // namespace vramguard
