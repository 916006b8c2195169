// Asks NVML itself, in the calling process, for as long as it takes.
#pragma once

#include "cli/nvml_view.h"

namespace vramguard {

// Loads the library, which may start threads and keep files open.
NvmlView ask_nvml();

}  // namespace vramguard
