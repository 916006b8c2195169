// A command line for the shell, as the arguments that start it.
#pragma once

#include <string>
#include <vector>

namespace vramguard {

inline std::vector<std::string> shell_command(const std::string& line) { return {"/bin/sh", "-c", line}; }

}  // namespace vramguard
