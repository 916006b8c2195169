// `vramguard run`: check everything, then become the command.
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
  bool observe = false;
  HookOptions hooks;
  std::optional<std::string> log;
  std::vector<std::string> command;
};

// Comes back only with an exit status of a failure.
int run_command(const RunOptions& options);

}  // namespace vramguard
