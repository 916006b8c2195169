// The guard's own thread: sleeps until it is woken or something is due, and never gets in the program's way.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/clock.h"

namespace vramguard {

// Thread-safe, except that start() is called once. Never destroyed once started: the thread is detached and joined by
// nobody. A forked child has no such thread; there the object is left alone and a fresh one started.
//
// The thread blocks all signals from its first instruction, holds no descriptor while it sleeps, and ends when only it
// remains: `main` has left by pthread_exit and the last worker is gone. The process then ends as it would have without
// it. That is noticed within `look_around`; without /proc it is not, and such a process would stay.
class HookThread {
 public:
  class Work {
   public:
    // Does what is due and says when to be called again if nobody wakes the thread; max() for never.
    virtual MonotonicTime run(MonotonicTime now) noexcept = 0;

   protected:
    ~Work() = default;
  };

  explicit HookThread(std::chrono::milliseconds look_around = std::chrono::seconds(1)) noexcept
      : look_around_(look_around) {}
  HookThread(const HookThread&) = delete;

  // False when the system gives no thread: the caller then does the work itself. `work` must live as long as the
  // process.
  bool start(Work& work) noexcept;

  // Any thread, also in a signal handler. One atomic exchange; a system call only when the thread sleeps.
  void wake() noexcept;

 private:
  static void* enter(void* self) noexcept;
  void loop() noexcept;
  bool sleep_until(MonotonicTime time) noexcept;

  enum State : std::uint32_t { kAwake, kAsleep, kWoken };

  const std::chrono::milliseconds look_around_;
  Work* work_ = nullptr;
  std::atomic<std::uint32_t> state_{kAwake};
};

// True when the calling thread is the only one left of its process besides a `main` that has ended.
bool only_this_thread_remains() noexcept;

}  // namespace vramguard
