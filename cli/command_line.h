// How the commands of `vramguard` come into its command line.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace vramguard {

// What to do once all of the command line has been read: the command that was asked for. Gives the exit status.
using Action = std::function<int()>;

// Every command has a function add_NAME(app, chosen) beside it: it adds a subcommand, and sets `chosen` when that is
// the one.

}  // namespace vramguard
