// Sends a signal only where it does no harm.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/guard_config.h"

namespace vramguard {

enum class SendResult : std::uint8_t {
  Sent,
  NoHandler,   // its default action would end or stop the target
  NoTarget,    // the other process is gone, in another pid namespace, or cannot be looked at; there is no group
  NotAllowed,  // the other process is pid 1 or another user's
  Failed,      // no signal of this number, or the system refuses
};

const char* to_string(SendResult result) noexcept;

// Thread-safe. To the process as a whole, with `value` as sigqueue carries it. With `require_handler` only to one that
// handles or ignores the signal, whose default action is harmless, or of which every thread blocks it or waits for it
// (of another process's threads only the blocked ones are known). A group is not known here: NoTarget. Leaves errno
// alone.
SendResult send_signal(const SignalAction& action, int value) noexcept;

// The same to another process of this user, which was started then (look_at_process); whatever the action's target.
SendResult send_signal_to(pid_t pid, std::uint64_t start_time, const SignalAction& action, int value) noexcept;

}  // namespace vramguard
