// `vramguard set`: changes the limits of guarded processes while they run.
#pragma once

#include "cli/command_line.h"

#include <sys/types.h>

#include <optional>
#include <string>

namespace vramguard {

// As written on the command line. A plain value.
struct SetOptions {
  std::optional<pid_t> pid;
  std::optional<std::string> group;
  std::optional<std::string> device;
  std::optional<std::string> budget;
  std::optional<std::string> policy;
  bool reload = false;
  bool json = false;
};

void add_set(CLI::App& app, Action& chosen);

// The exit status: 1 when something was not done.
int set_limits(const SetOptions& options);

}  // namespace vramguard
