// The signals that a configuration can name.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace vramguard {

// The number of a signal that a program can handle, or what is wrong with `text`: "is no signal; write ...".
std::variant<int, std::string> read_signal(std::string_view text);

}  // namespace vramguard
