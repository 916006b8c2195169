// `vramguard ps`: who uses the cards, and within what budget.
#pragma once

#include "cli/command_line.h"

namespace vramguard {

struct PsOptions {
  bool json = false;
};

// The exit status.
int print_processes(const PsOptions& options);
void add_ps(CLI::App& app, Action& chosen);

}  // namespace vramguard
