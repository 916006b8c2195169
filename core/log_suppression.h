// Thins out floods of records: so many at once, then so many a second, and a count of the rest.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/clock.h"

namespace vramguard {

// Not thread-safe: whoever writes the log uses it. Time is passed in.
class LogSuppression {
 public:
  static constexpr int kRecordsPerSecond = 10;
  static constexpr int kRecordsAtOnce = 50;
  static constexpr int kErrorsPerSecond = 100;
  static constexpr int kErrorsAtOnce = 100;
  static constexpr std::chrono::milliseconds kReportAfter{1000};

  struct Suppressed {
    std::uint64_t records;
    std::int64_t window_ms;  // from the first of them to the report
  };

  // Whether a record posted at `at` may be written. Errors are counted apart from the rest.
  bool admit(bool is_error, MonotonicTime at) noexcept;

  // What was held back and is due to be reported: a second after the first of it, or at once when `final`. Once.
  std::optional<Suppressed> take_report(MonotonicTime now, bool final = false) noexcept;
  MonotonicTime next_report() const noexcept;  // max() while nothing is held back

 private:
  // Holds time instead of tokens, so that it stays exact in integers: a record costs one interval.
  class Bucket {
   public:
    constexpr Bucket(int per_second, int at_once) noexcept
        : cost_(std::chrono::nanoseconds(std::chrono::seconds(1)) / per_second),
          full_(cost_ * at_once),
          saved_(full_) {}
    bool take(MonotonicTime at) noexcept;

   private:
    std::chrono::nanoseconds cost_;
    std::chrono::nanoseconds full_;
    std::chrono::nanoseconds saved_;
    std::optional<MonotonicTime> last_;
  };

  Bucket records_{kRecordsPerSecond, kRecordsAtOnce};
  Bucket errors_{kErrorsPerSecond, kErrorsAtOnce};
  std::uint64_t held_back_ = 0;
  MonotonicTime first_held_back_{};
};

}  // namespace vramguard
