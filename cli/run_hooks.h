// Hooks from the command line of `vramguard run`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/problem.h"
#include "config/load_config.h"

namespace vramguard {

struct HookOptions {
  std::vector<std::string> on;  // LEVEL=COMMAND
  std::vector<std::string> on_oom;
  bool empty() const { return on.empty() && on_oom.empty(); }
};

// Puts them behind the hooks of the configuration, under names of their own.
std::optional<Problem> add_hooks(const HookOptions& options, LoadResult& loaded);

}  // namespace vramguard
