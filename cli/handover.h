// What `vramguard run` gives its command: one file with the whole configuration, and a group.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "cli/child_environment.h"
#include "cli/problem.h"
#include "cli/run_command.h"
#include "config/load_config.h"

namespace vramguard {

// Where the command's processes tell of themselves.
struct Handover {
  std::string folder;              // "": none could be had, and each process reads the configuration itself
  std::string group;               // "": each process alone
  bool group_was_there = false;    // named by the user, or of a `run` around this one
  std::optional<Problem> problem;  // then nothing of the rest counts
};

// Writes the file, makes the group, and leaves of the VRAMGUARD_* variables those that no file holds. `loaded` is what
// the command is to have; its group becomes the one that was chosen.
Handover hand_over(const RunOptions& options, LoadResult& loaded, ChildEnvironment& environment);

}  // namespace vramguard
