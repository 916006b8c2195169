// What the terminal behind standard output is like.
#pragma once

#include <cstddef>

#include "cli/text_columns.h"

namespace vramguard {

struct TerminalSize {
  std::size_t columns = 80, rows = 24;
};

bool is_terminal(int fd) noexcept;
TerminalSize terminal_size(int fd) noexcept;

// For standard output: its width and colours where it is a terminal that has them and NO_COLOR is not set; else plain
// lines of any width.
TextStyle output_style();

}  // namespace vramguard
