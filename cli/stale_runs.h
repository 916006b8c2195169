// What earlier `vramguard run`s have left in a state folder.
#pragma once

#include <string>

namespace vramguard {

// Removes the configuration files and the groups of runs whose process is gone, unless a process that inherited them
// may still live: by its environment, or as a member of the group.
void remove_stale_runs(const std::string& folder);

}  // namespace vramguard
