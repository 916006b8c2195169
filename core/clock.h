// Time that is passed in, so that tests hold their own clock.
#pragma once

#include <chrono>

namespace vramguard {

using MonotonicTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

// Thread-safe. The system's clocks; tests use tests/support/manual_clock.h.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime now() const noexcept { return std::chrono::steady_clock::now(); }
  virtual WallTime wall() const noexcept { return std::chrono::system_clock::now(); }
};

}  // namespace vramguard
