// `vramguard ps`: who uses the cards, and within what budget.
#pragma once

#include <string>

#include "cli/command_line.h"
#include "cli/process_table.h"
#include "cli/text_columns.h"

namespace vramguard {

struct PsOptions {
  bool json = false;
};

// The table, and what to do where nothing is guarded.
std::string processes_text(const ProcessTable& table, const TextStyle& style);

// The exit status.
int print_processes(const PsOptions& options);
void add_ps(CLI::App& app, Action& chosen);

}  // namespace vramguard
