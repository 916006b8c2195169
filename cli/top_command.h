// `vramguard top`: the table of `ps`, again and again.
#pragma once

#include <cstdint>

#include "cli/command_line.h"

namespace vramguard {

struct TopOptions {
  double seconds = 2;       // between two looks
  std::uint64_t looks = 0;  // 0: until it is told to end
};

// The exit status. Where standard output is no terminal: prints the table once.
int watch_processes(const TopOptions& options);
void add_top(CLI::App& app, Action& chosen);

}  // namespace vramguard
