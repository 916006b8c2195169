// The configuration files that `vramguard run` writes for its commands, and what becomes of them.
#pragma once

#include <string>
#include <variant>

#include "cli/problem.h"

namespace vramguard {

// Writes `text` to a file in `folder` that only this user can read, named after this process. The path.
std::variant<std::string, Problem> write_run_file(const std::string& folder, const std::string& text);

// Removes from `folder` the files of processes that are gone, unless a process that inherited one still lives.
void remove_stale_run_files(const std::string& folder);

}  // namespace vramguard
