#include "shim/stderr_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/undisturbed.h"

namespace vramguard {

void write_stderr_line(std::string_view text) noexcept {
  constexpr std::string_view kPrefix = "vramguard: ";
  char line[2048];
  const std::size_t length = std::min(text.size(), sizeof line - kPrefix.size() - 1);
  std::memcpy(line, kPrefix.data(), kPrefix.size());
  std::memcpy(line + kPrefix.size(), text.data(), length);
  line[kPrefix.size() + length] = '\n';
  const Undisturbed undisturbed;
  if (write(STDERR_FILENO, line, kPrefix.size() + length + 1) < 0) return;  // nobody is listening
}

}  // namespace vramguard
