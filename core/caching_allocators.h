// Programs whose allocator keeps freed memory, gives it back when it is refused some, and asks again at once.
#pragma once

#include <atomic>

#include "core/clock.h"

namespace vramguard {

// Thread-safe. Reads the process's list of mapped files, 1 ms for PyTorch's: for paths of refusal alone.
class CachingAllocators {
 public:
  bool loaded(MonotonicTime now) noexcept;

 private:
  std::atomic<bool> found_{false};
  std::atomic<MonotonicTime::rep> look_again_{MonotonicTime::min().time_since_epoch().count()};
};

}  // namespace vramguard
