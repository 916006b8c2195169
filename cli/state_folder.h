// The folder for what vramguard itself writes while commands run.
#pragma once

#include <string>
#include <variant>

#include "cli/child_environment.h"
#include "cli/problem.h"

namespace vramguard {

// $VRAMGUARD_STATE_DIR, else /run/vramguard/<uid> where that exists, else /dev/shm/vramguard-<uid>; created if need be.
// A folder of another user, or one that others can write to, is a problem.
std::variant<std::string, Problem> open_state_folder(const ChildEnvironment& environment);

}  // namespace vramguard
