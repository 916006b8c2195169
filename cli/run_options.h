// The options of `vramguard run`, and where the guarded command begins.
#pragma once

#include "cli/command_line.h"

namespace vramguard {

// How many of the `argc` arguments are for `app` to parse: what follows is the guarded command's.
int add_run(CLI::App& app, Action& chosen, int argc, char** argv);

}  // namespace vramguard
