// Whether the dynamic loader really loads the library, which it passes over with no more than a message.
#pragma once

#include <optional>
#include <string>

#include "cli/problem.h"

namespace vramguard {

// Has the loader list what it would load for this program under the preload; nothing of it runs. A library that is
// built for a newer C library, or lacks one of its own, is found so.
std::optional<Problem> check_loader(const std::string& library);

}  // namespace vramguard
