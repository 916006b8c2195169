#include "core/stderr_line.h"

#include <unistd.h>

#include <algorithm>

#include "core/undisturbed.h"

namespace vramguard {

void write_stderr_line(std::string_view text, std::string_view ending) noexcept {
  char line[2048];
  std::size_t used = 0;
  for (const std::string_view part : {std::string_view("vramguard: "), text, ending}) {
    const std::size_t length = std::min(part.size(), sizeof line - 1 - used);
    std::copy_n(part.data(), length, line + used);
    used += length;
  }
  line[used++] = '\n';
  const Undisturbed undisturbed;
  if (write(STDERR_FILENO, line, used) < 0) return;  // nobody is listening
}

}  // namespace vramguard
