// `vramguard doctor`: what keeps vramguard from working here, each with a remedy.
#pragma once

#include "cli/command_line.h"

#include <string>
#include <vector>

namespace vramguard {

// A plain value.
struct DoctorOptions {
  std::vector<std::string> command;  // to be looked at, too; never started
  bool json = false;
};

void add_doctor(CLI::App& app, Action& chosen);

// The exit status: 1 when there is a problem.
int examine(const DoctorOptions& options);

}  // namespace vramguard
