// How a process has set up its signals, as /proc tells it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace vramguard {

// One bit for each signal, the lowest for signal 1.
using SignalBits = std::uint64_t;

constexpr SignalBits signal_bit(int signal) noexcept { return SignalBits{1} << (signal - 1); }

struct ProcessSignals {
  uid_t real_uid = 0;
  uid_t effective_uid = 0;
  SignalBits ignored = 0;
  SignalBits caught = 0;
  std::uint64_t start_time = 0;  // in clock ticks since boot: with the pid it names one process
};

// Thread-safe. Nothing where /proc does not tell.
std::optional<ProcessSignals> look_at_process(pid_t pid) noexcept;
// Whether every thread of the process blocks `signal` for good, or (of this process only) waits for it. In doubt not.
bool all_threads_block(pid_t pid, int signal) noexcept;

}  // namespace vramguard
