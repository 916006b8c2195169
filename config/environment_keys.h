// VRAMGUARD_* variables -> settings.
#pragma once

#include "config/environment.h"
#include "config/settings.h"

namespace vramguard {

void read_environment(const Environment& environment, Settings& settings);

}  // namespace vramguard
