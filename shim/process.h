// The state of this process: not started, guarded, or unable to be. A forked child starts anew.
#pragma once

#include "core/guard.h"
#include "shim/fork_page.h"

namespace vramguard {

// Called by vramguard_core_attach, from any number of threads.
bool attach_process() noexcept;

// The guard; null before cuInit has succeeded, in a forked child until its own cuInit, and where the program goes on
// unguarded. Lock-free.
inline Guard* guard() noexcept { return fork_page().guard.load(std::memory_order_acquire); }

// Whether cuInit may succeed. Reads the configuration at the first call; if it is wrong, says so on stderr once.
bool may_initialize() noexcept;

// After the driver's cuInit has succeeded. Nobody waits for another: each thread that finds no guard builds one, and
// the first publishes. No: there is no guard, and the program may not go on without one. WithoutSentinel: the
// configuration requires a sentinel, and it could not be placed.
enum class Started { Yes, No, WithoutSentinel };
Started start_guard() noexcept;

// Places the sentinel where it was not yet. False: the configuration requires it, and it could not be placed; stderr
// says so once for each device.
bool sentinel_is_placed(Guard& guard, GuardedDevice& device) noexcept;

// Writes a record for each function that a program was given past us; before the guard starts, they wait for it.
void report_unguarded_symbols() noexcept;

}  // namespace vramguard
