// Reading the configuration again while the program runs.
#pragma once

#include <string>

#include "core/guard.h"

namespace vramguard {

// Reads it all, with the environment as it was at cuInit, and applies what can change; a wrong one changes nothing. ""
// or, in words, what is wrong or was not applied. On the guard's own thread.
std::string reload_configuration(Guard& guard);

}  // namespace vramguard
