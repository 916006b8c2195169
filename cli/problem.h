// Why a command is not started.
#pragma once

#include <optional>
#include <string>

namespace vramguard {

struct Problem {
  int exit_status;
  std::string message;  // one line, without "vramguard: error: "
};

// "vramguard: error: MESSAGE" on stderr.
void print_error(const std::string& message);
void print_warning(const std::string& message);

}  // namespace vramguard
