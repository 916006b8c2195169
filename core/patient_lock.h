// A lock for work that one thread does for all: taken only if free, or after a bounded wait.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>

namespace vramguard {

// Thread-safe. Both steps are read-modify-writes: whoever fails to take it comes before the unlock, so the holder sees,
// after unlock(), what that thread left for it.
class PatientLock {
 public:
  PatientLock() = default;
  PatientLock(const PatientLock&) = delete;

  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acq_rel); }
  void unlock() noexcept { taken_.exchange(false, std::memory_order_acq_rel); }

  bool lock_within(std::chrono::milliseconds patience) noexcept {
    constexpr auto kNap = std::chrono::microseconds(200);
    constexpr timespec kNapTime{0, std::chrono::nanoseconds(kNap).count()};
    for (auto slept = std::chrono::microseconds(0); !try_lock(); slept += kNap) {
      if (slept >= patience) return false;
      nanosleep(&kNapTime, nullptr);
    }
    return true;
  }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace vramguard
