// The few lines that the library may write on stderr.
#pragma once

#include <string_view>

namespace vramguard {

// One write, with "vramguard: " before and a line end behind it. Never raises a signal.
void write_stderr_line(std::string_view text, std::string_view ending = {}) noexcept;

}  // namespace vramguard
