// Waking the guard's thread of another process.
#pragma once

#include <string>

#include "core/state/control_block.h"

namespace vramguard {

// Its thread does what is due within about a millisecond, unless the process is stopped. Any thread; one atomic
// exchange, and a system call only when it sleeps.
void wake(ControlBlock& control) noexcept;

// By the name of its files in `folder`. False: there is no such process of this user.
bool wake_process(const std::string& folder, const std::string& name) noexcept;

}  // namespace vramguard
