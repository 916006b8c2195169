#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace vramguard {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

bool is_terminal(int fd) noexcept { return isatty(fd) != 0; }

TerminalSize terminal_size(int fd) noexcept {
  winsize told{};
  if (ioctl(fd, TIOCGWINSZ, &told) != 0 || told.ws_col == 0 || told.ws_row == 0) return {};
  return {told.ws_col, told.ws_row};
}

TextStyle output_style() {
  if (!is_terminal(STDOUT_FILENO)) return {};
  const bool colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb" && !variable("TERM").empty();
  return {terminal_size(STDOUT_FILENO).columns, colour};
}

}  // namespace vramguard
