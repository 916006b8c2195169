// A thread of the guard's own: sleeps until it is woken or something is due, and never gets in the program's way.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "core/clock.h"
#include "core/futex.h"
#include "core/state/control_block.h"

namespace vramguard {

// Thread-safe, except that start() is called once. Never destroyed once started: the thread is detached and joined by
// nobody. A forked child has no such thread; there the object is left alone and a fresh one started.
//
// The thread blocks all signals from its first instruction, holds no descriptor while it sleeps, and ends when only the
// guard's own remain: `main` has left by pthread_exit and the last worker is gone. The process then ends as it would
// have without them. That is noticed within `look_around`; without /proc it is not, and such a process would stay.
class BackgroundThread {
 public:
  static constexpr MonotonicTime kEnd{MonotonicTime::duration(MonotonicTime::min().time_since_epoch().count() + 1)};

  class Work {
   public:
    // Once, before the first run().
    virtual void begin() noexcept {}
    // Does what is due and says when to be called again if nobody wakes the thread; max() for never, kEnd to end it.
    virtual MonotonicTime run(MonotonicTime now) noexcept = 0;
    // The program has ended around the thread.
    virtual void leave(MonotonicTime) noexcept {}

   protected:
    ~Work() = default;
  };

  // `name` as the system shows it, at most 15 characters. `running` counts the guard's own threads.
  BackgroundThread(const char* name, std::atomic<unsigned>& running,
                   std::chrono::milliseconds look_around = std::chrono::seconds(1)) noexcept
      : name_(name), running_(running), look_around_(look_around) {}
  BackgroundThread(const BackgroundThread&) = delete;

  // From start() on, sleeps on a word that other processes can wake it by, too (WakeWord). Before start().
  void sleep_on(std::uint32_t& shared_word) noexcept {
    word_ = &shared_word;
    scope_ = FutexScope::Shared;
  }

  // False when the system gives no thread: the caller then does the work itself. `work` must live as long as the
  // process.
  bool start(Work& work) noexcept;

  // Any thread, also in a signal handler. One atomic exchange; a system call only when the thread sleeps.
  void wake() noexcept;

 private:
  static void* enter(void* self) noexcept;
  void loop() noexcept;
  bool sleep_until(MonotonicTime time) noexcept;

  const char* const name_;
  std::atomic<unsigned>& running_;
  const std::chrono::milliseconds look_around_;
  Work* work_ = nullptr;
  std::atomic_ref<std::uint32_t> state() const noexcept { return std::atomic_ref(*word_); }

  alignas(std::atomic_ref<std::uint32_t>::required_alignment) std::uint32_t own_word_ = kAwake;
  std::uint32_t* word_ = &own_word_;
  FutexScope scope_ = FutexScope::Private;
};

// The program's and ours together; nullopt without /proc.
std::optional<unsigned> threads_of_this_process() noexcept;

// True when a `main` that has ended and `own` others are all that is left of the process's threads.
bool only_own_threads_remain(unsigned own) noexcept;

}  // namespace vramguard
