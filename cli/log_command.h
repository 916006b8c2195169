// `vramguard log`: the pressure logs of all guarded processes as one, and what comes next.
#pragma once

#include "cli/command_line.h"
#include "cli/log/filter.h"

#include <cstddef>
#include <optional>

namespace vramguard {

// A plain value.
struct LogOptions {
  LogSelection selection;
  std::optional<std::size_t> lines;  // only the last ones of what is there already
  bool follow = false;
};

void add_log(CLI::App& app, Action& chosen);

// The exit status: 1 when a log is there and cannot be read.
int show_log(const LogOptions& options);

}  // namespace vramguard
