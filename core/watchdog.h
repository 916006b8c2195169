// Looks from time to time at what calls do not show, on a thread of its own: a question that is never answered must
// stop nothing else.
#pragma once

#include "core/background_thread.h"

namespace vramguard {

// Thread-safe. Never destroyed once started.
class Watchdog final : private BackgroundThread::Work {
 public:
  static constexpr std::chrono::milliseconds kPeriod{250};  // a look costs about 40 us (H200)

  // `look` is called on the watchdog's thread alone: once somebody expects it, and from then on every kPeriod.
  // `first` is called before all else, once.
  using Look = void (*)(void* context) noexcept;
  Watchdog(std::atomic<unsigned>& running, Look first, Look look, void* context) noexcept
      : begin_(first), look_(look), context_(context), thread_("vramguard-watch", running) {}

  bool start() noexcept { return thread_.start(*this); }
  void expect(std::chrono::milliseconds within) noexcept;
  void end() noexcept;

 private:
  void begin() noexcept override { begin_(context_); }
  MonotonicTime run(MonotonicTime now) noexcept override;

  const Look begin_;
  const Look look_;
  void* const context_;
  std::atomic<MonotonicTime::rep> due_{MonotonicTime::max().time_since_epoch().count()};
  std::atomic<bool> ending_{false};
  BackgroundThread thread_;
};

}  // namespace vramguard
