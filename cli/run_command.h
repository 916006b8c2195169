// `vramguard run`: check everything, then become the command, or stay as its parent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run_hooks.h"

namespace vramguard {

struct RunOptions {
  std::optional<std::string> budget;
  std::vector<std::string> devices;  // GPU=SIZE
  std::optional<std::string> policy;
  std::optional<std::string> sentinel;
  std::optional<std::string> group;
  bool per_process = false;  // no group
  bool observe = false;
  bool require = false;  // stay as the parent
  HookOptions hooks;
  std::optional<std::string> log;
  std::vector<std::string> command;
};

// Comes back with an exit status: that of a failure, or with `require` the command's.
int run_command(const RunOptions& options);

}  // namespace vramguard
