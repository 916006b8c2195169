// `vramguard check`: what is wrong with the configuration, or what it comes to.
#pragma once

#include <string>

#include "cli/command_line.h"
#include "config/load_config.h"

namespace vramguard {

// Reads `file` instead of the usual files unless it is "". The exit status.
int check_configuration(const std::string& file);
void add_check(CLI::App& app, Action& chosen);

// A table of every value and where it came from, with line ends.
std::string format_values(const LoadResult& loaded);

}  // namespace vramguard
