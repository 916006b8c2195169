// `vramguard run --require`: the command as a child, and whether all of it was guarded.
#pragma once

#include <string>
#include <vector>

#include "cli/handover.h"

namespace vramguard {

// Starts the command in the same process group and session, passes signals on to it, and waits for it and all that
// descends from it. Its exit status, 128 + n when signal n ended it; 125 when a process of it used a GPU without the
// guard.
int stay_as_parent(const std::vector<std::string>& command, ChildEnvironment& environment, const Handover& handover,
                   bool with_summary);

}  // namespace vramguard
