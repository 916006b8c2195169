// The lines that `vramguard run` shows to a person at a terminal: one before the command, one after it.
#pragma once

#include <string>

#include "cli/handover.h"
#include "core/guard_config.h"

namespace vramguard {

// False for a pipe, a file, or where the user wants no lines.
bool lines_are_wanted(const GuardConfig& config);

// Budget, cards, how to watch and how to switch off.
std::string line_before(const GuardConfig& config, const Handover& handover);

}  // namespace vramguard
