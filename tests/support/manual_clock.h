// A clock that stands still until the test moves it.
#pragma once

#include <atomic>
#include <chrono>

#include "core/clock.h"

namespace vramguard {

// Thread-safe. Both times move together; the wall clock can also be set by itself, as an administrator would.
class ManualClock final : public Clock {
 public:
  MonotonicTime now() const noexcept override { return MonotonicTime(std::chrono::nanoseconds(now_.load())); }
  WallTime wall() const noexcept override {
    return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds(wall_.load())));
  }

  void advance(std::chrono::nanoseconds by) noexcept {
    now_ += by.count();
    wall_ += by.count();
  }
  void set_wall(WallTime to) noexcept {
    wall_ = std::chrono::duration_cast<std::chrono::nanoseconds>(to.time_since_epoch()).count();
  }

 private:
  // Not 0, so that a time that nobody set is not taken for one; the wall starts at 2026-01-01 00:00 UTC.
  std::atomic<std::chrono::nanoseconds::rep> now_{std::chrono::nanoseconds(std::chrono::hours(1)).count()};
  std::atomic<std::chrono::nanoseconds::rep> wall_{
      std::chrono::nanoseconds(std::chrono::seconds(1'767'225'600)).count()};
};

}  // namespace vramguard
