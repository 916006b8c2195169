#include "core/wait_line.h"

#include <algorithm>

namespace vramguard {

std::uint64_t WaitLine::join() noexcept try {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(last_ + 1);
  return ++last_;
} catch (...) {
  return 0;
}

void WaitLine::leave(std::uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(waiting_, number);
}

bool WaitLine::is_first(std::uint64_t number) const noexcept {
  const std::lock_guard lock(mutex_);
  return number == 0 || waiting_.empty() || waiting_.front() == number;
}

}  // namespace vramguard
