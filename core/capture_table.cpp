#include "core/capture_table.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace vramguard {

namespace {

pid_t this_thread() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

bool same_stream(const Capture& a, const Capture& b) noexcept {
  if (a.stream != b.stream) return false;
  return a.stream != kPerThreadStream || (a.thread == b.thread && a.context == b.context);
}

}  // namespace

std::vector<Capture>::iterator CaptureTable::find(const Capture& capture) noexcept {
  return std::ranges::find_if(captures_, [&](const Capture& other) { return same_stream(other, capture); });
}

bool CaptureTable::add(StreamHandle stream, ContextId context) noexcept try {
  const Capture capture{stream, context, this_thread()};
  const std::lock_guard lock(mutex_);
  const auto stale = find(capture);
  if (stale != captures_.end()) {
    *stale = capture;
  } else {
    captures_.push_back(capture);
  }
  changed();
  return true;
} catch (...) {
  return false;
}

std::optional<Capture> CaptureTable::take(StreamHandle stream, ContextId context) noexcept {
  if (empty()) return std::nullopt;
  const Capture wanted{stream, context, this_thread()};
  const std::lock_guard lock(mutex_);
  const auto found = find(wanted);
  if (found == captures_.end()) return std::nullopt;
  const Capture taken = *found;
  captures_.erase(found);
  changed();
  return taken;
}

void CaptureTable::put_back(const Capture& capture) noexcept try {
  const std::lock_guard lock(mutex_);
  if (find(capture) == captures_.end()) captures_.push_back(capture);
  changed();
} catch (...) {
}

void CaptureTable::context_gone(ContextId context) noexcept {
  if (empty()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(captures_, [=](const Capture& capture) { return capture.context == context; });
  changed();
}

bool CaptureTable::by_this_thread() const noexcept {
  if (empty()) return false;
  const pid_t self = this_thread();
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(captures_, [=](const Capture& capture) { return capture.thread == self; });
}

}  // namespace vramguard
