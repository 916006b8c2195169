// The configuration file that `vramguard run` writes for its command.
#pragma once

#include <string>
#include <variant>

#include "cli/problem.h"

namespace vramguard {

inline constexpr char kRunFileSuffix[] = ".toml";

// Writes `text` to a file in `folder` that only this user can read, called `name` and the suffix. The path.
std::variant<std::string, Problem> write_run_file(const std::string& folder, const std::string& name,
                                                  const std::string& text);

}  // namespace vramguard
