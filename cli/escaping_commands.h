// Commands whose work happens outside of the process tree that they are started in, where no preload reaches.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vramguard {

// What to do instead when `program` (a name without folder) is such a command.
std::optional<std::string> remedy_for(std::string_view program);

}  // namespace vramguard
