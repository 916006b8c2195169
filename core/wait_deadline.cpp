#include "core/wait_deadline.h"

#include <algorithm>

namespace vramguard {

MonotonicTime WaitDeadlines::of(std::uint64_t thread, MonotonicTime now, std::chrono::milliseconds timeout) noexcept {
  const std::lock_guard lock(mutex_);
  auto* entry = std::find_if(entries_.begin(), entries_.end(), [=](const Entry& e) { return e.thread == thread; });
  if (entry != entries_.end() && now - entry->ended <= kSuccession) return entry->deadline;
  if (entry == entries_.end()) {
    entry = &entries_[next_];
    next_ = (next_ + 1) % entries_.size();
  }
  *entry = {thread, now + timeout, now};
  return entry->deadline;
}

void WaitDeadlines::ended(std::uint64_t thread, MonotonicTime now, bool served) noexcept {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.thread != thread) continue;
    entry.ended = now;
    if (served) entry.thread = 0;
  }
}

}  // namespace vramguard
