// Passes the signals that a staying parent gets on to its command.
#pragma once

#include <sys/types.h>

#include <csignal>

namespace vramguard {

// What the parent waits for instead of being ended or stopped by it: all but those that tell of a fault of its own.
sigset_t relayed_signals() noexcept;

// To `command`, or, once that has ended (-1), to all that descends from this process. Not what the terminal sent, which
// the command's process group got itself, and not what a process of the command sent to the whole group.
void relay(const siginfo_t& signal, pid_t command);

// Stops this process as its command was stopped, so that a shell sees the job as stopped. Comes back when the job goes
// on.
void stop_too(int signal) noexcept;

}  // namespace vramguard
