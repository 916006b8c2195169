#include "core/watchdog.h"

namespace vramguard {

void Watchdog::expect(std::chrono::milliseconds within) noexcept {
  const MonotonicTime::rep at = (std::chrono::steady_clock::now() + within).time_since_epoch().count();
  MonotonicTime::rep due = due_.load();
  while (at < due && !due_.compare_exchange_weak(due, at)) {
  }
  if (at < due) thread_.wake();
}

void Watchdog::end() noexcept {
  ending_.store(true);
  thread_.wake();
}

MonotonicTime Watchdog::run(MonotonicTime now) noexcept {
  if (ending_) return BackgroundThread::kEnd;
  const MonotonicTime due{MonotonicTime::duration(due_.load())};
  if (now < due) return due;
  due_.store((now + kPeriod).time_since_epoch().count());
  look_(context_);
  return MonotonicTime(MonotonicTime::duration(due_.load()));
}

}  // namespace vramguard
