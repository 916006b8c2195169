// Finds a program as a shell would, and what really runs when it is a script.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/problem.h"

namespace vramguard {

// The path of the program that `name` starts, or why none does: 127 not found, 126 not executable.
std::variant<std::string, Problem> find_program(const std::string& name, std::string_view path_variable);

// The interpreter that the first line of a script names; with "#!/usr/bin/env NAME" also the NAME that env looks up.
// Both empty for what is no script.
struct ScriptLine {
  std::string interpreter;
  std::string looked_up;
};
ScriptLine read_script_line(const std::string& path);

}  // namespace vramguard
