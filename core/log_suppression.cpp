#include "core/log_suppression.h"

#include <algorithm>

namespace vramguard {

bool LogSuppression::Bucket::take(MonotonicTime at) noexcept {
  // Records of several threads may come in slightly out of order: never count backwards.
  if (last_ && at > *last_) saved_ = at - *last_ >= full_ ? full_ : std::min(full_, saved_ + (at - *last_));
  if (!last_ || at > *last_) last_ = at;
  if (saved_ < cost_) return false;
  saved_ -= cost_;
  return true;
}

bool LogSuppression::admit(bool is_error, MonotonicTime at) noexcept {
  if ((is_error ? errors_ : records_).take(at)) return true;
  if (held_back_++ == 0) first_held_back_ = at;
  return false;
}

std::optional<LogSuppression::Suppressed> LogSuppression::take_report(MonotonicTime now, bool final) noexcept {
  if (held_back_ == 0 || (!final && now < next_report())) return std::nullopt;
  const auto window = std::chrono::duration_cast<std::chrono::milliseconds>(now - first_held_back_);
  const Suppressed report{held_back_, std::max<std::int64_t>(window.count(), 0)};
  held_back_ = 0;
  return report;
}

MonotonicTime LogSuppression::next_report() const noexcept {
  return held_back_ == 0 ? MonotonicTime::max() : first_held_back_ + kReportAfter;
}

}  // namespace vramguard
