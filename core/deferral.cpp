#include "core/deferral.h"

#include <algorithm>

namespace vramguard {

bool Deferral::is_first(std::uint64_t thread, Bytes bytes, MonotonicTime now) noexcept {
  const std::lock_guard lock(mutex_);
  if (Entry* known = find(thread, bytes)) {
    const bool recent = now - known->at <= kMemory;
    known->at = now;
    if (recent) forget(*known);  // the next refusal of the same size is a new story
    return !recent;
  }
  if (entries_[next_].thread == 0) known_.fetch_add(1, std::memory_order_relaxed);
  entries_[next_] = {thread, bytes, now};
  next_ = (next_ + 1) % entries_.size();
  return true;
}

void Deferral::served(std::uint64_t thread, Bytes bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (Entry* known = find(thread, bytes)) forget(*known);
}

Deferral::Entry* Deferral::find(std::uint64_t thread, Bytes bytes) noexcept {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.thread == thread && entry.bytes == bytes; });
  return found != entries_.end() ? &*found : nullptr;
}

void Deferral::forget(Entry& entry) noexcept {
  entry.thread = 0;
  known_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace vramguard
