// The last records of the logs of all guarded processes.
#pragma once

#include <string>
#include <vector>

#include "core/state/state_reader.h"

namespace vramguard {

// By time, newest last, printable; those of processes that have just ended, too. One that was being written while it
// was read is left out.
std::vector<std::string> recent_records(const SeenProcesses& seen);

}  // namespace vramguard
