// The hooks of `vramguard run --on` and `--on-oom`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/child_environment.h"
#include "cli/problem.h"

namespace vramguard {

// As written on the command line. A plain value.
struct HookOptions {
  std::vector<std::string> on;      // LEVEL=COMMAND
  std::vector<std::string> on_oom;  // COMMAND
  bool empty() const { return on.empty() && on_oom.empty(); }
};

// Hooks cannot be set by a variable: the configuration of all files with these hooks added is written to a file of its
// own, and VRAMGUARD_CONFIG in `environment` names it.
std::optional<Problem> apply_hooks(const HookOptions& options, ChildEnvironment& environment);

}  // namespace vramguard
