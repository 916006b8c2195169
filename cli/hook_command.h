// `vramguard hook test`: what a hook would do, and what comes of it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "cli/command_line.h"

namespace vramguard {

// A plain value.
struct HookTestOptions {
  std::string name;
  std::optional<std::string> level;  // instead of the hook's own
  std::optional<pid_t> pid;          // who gets the signal of a signal hook
  bool dry_run = false;
};

// The exit status: the command's own; 0 for a signal that was sent.
int test_hook(const HookTestOptions& options);
void add_hook(CLI::App& app, Action& chosen);

}  // namespace vramguard
