// What a program offers a MemoryGuard for the moment when a request does not fit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/bytes.h"

namespace vramguard {

// A request that does not fit, as of one moment. A plain value.
struct MemoryShortage {
  Bytes requested = 0;
  Bytes missing = 0;  // so much more is needed
  Bytes used = 0;
  std::optional<Bytes> budget;       // nullopt: none
  std::optional<Bytes> device_free;  // nullopt: the device does not tell
  unsigned attempt = 0;              // tries so far
};

// Frees memory. Runs on the thread that asks for memory, with no lock held, one thread at a time: others that need
// memory meanwhile wait for it, up to five seconds. May use the guard; what it allocates runs no hook.
struct MemoryHook {
  std::string name;
  Bytes estimated_free_bytes = 0;      // of equal priority, the larger runs first; it is nowhere relied on
  Bytes execution_overhead_bytes = 0;  // skipped while less than that is free of the budget
  std::int64_t priority = 0;           // lowest first
  // Returns what it has freed. Nobody takes its word for it: after each hook the request is tried again. An exception
  // is a failure; after three in a row the hook rests for 30 s and longer.
  std::function<Bytes(const MemoryShortage&)> callback;
};

}  // namespace vramguard
