// Stands in for the guard's thread of a process that is asked through its private file.
#pragma once

#include "core/futex.h"
#include "core/state/control_block.h"
#include "core/state/state_text.h"
#include "core/state/wake.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace vramguard {

// Answers each request with what `handle` returns ("" is done), until it is destroyed.
class AnsweringThread {
 public:
  AnsweringThread(ControlBlock& block, std::function<std::string(const ControlBlock&)> handle)
      : block_(block), handle_(std::move(handle)), thread_([this] { run(); }) {}
  ~AnsweringThread() {
    stop_ = true;
    wake(block_);
    thread_.join();
  }

 private:
  void run() {
    while (!stop_) {
      const std::uint32_t asked = std::atomic_ref(block_.asked).load();
      if (asked != std::atomic_ref(block_.answered).load()) {
        const std::string text = handle_(block_);
        set_state_text(block_.answer, text);
        std::atomic_ref(block_.done).store(text.empty() ? 1 : 0);
        std::atomic_ref(block_.answered).store(asked);
        futex_wake_all(block_.answered, FutexScope::Shared);
        continue;
      }
      std::uint32_t awake = kAwake;
      if (std::atomic_ref(block_.wake).compare_exchange_strong(awake, kAsleep))
        futex_wait(block_.wake, kAsleep, MonotonicTime::max(), FutexScope::Shared);
      std::atomic_ref(block_.wake).store(kAwake);
    }
  }

  ControlBlock& block_;
  const std::function<std::string(const ControlBlock&)> handle_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace vramguard
