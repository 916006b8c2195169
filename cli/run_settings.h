// The options of `vramguard run` that are values of the configuration.
#pragma once

#include <optional>

#include "cli/child_environment.h"
#include "cli/problem.h"
#include "cli/run_command.h"

namespace vramguard {

// Sets the variables that they stand for: options go before the environment, and that before files.
std::optional<Problem> apply_settings(const RunOptions& options, ChildEnvironment& environment);

}  // namespace vramguard
