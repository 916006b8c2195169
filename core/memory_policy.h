// What a MemoryGuard does with a request that still does not fit when trims, hooks and the reservation have not helped.
#pragma once

#include <chrono>
#include <variant>

#include "core/bytes.h"

namespace vramguard {

// Throws.
struct Fail {};
// Has the device trim its caches and looks again at what is free, then tries once more.
struct RetryAfterFree {};
// Waits for room and tries again: woken by this guard's own frees and a raised budget, and looking at the device every
// 20 to 250 ms. Gives up at once where the budget is the reason and no other thread could free anything.
struct WaitAndRetry {
  std::chrono::milliseconds timeout{30'000};  // at most ten minutes
};
// Calls what on_oom() set, then throws.
struct CheckpointAndFail {};
// Gives memory of the host instead, which the device uses over the bus: slower, but alive.
struct Spill {
  Bytes limit = 0;  // of all spilled memory together
};

using MemoryPolicy = std::variant<Fail, RetryAfterFree, WaitAndRetry, CheckpointAndFail, Spill>;

}  // namespace vramguard
