// The guard of a process that runs under the preload, for its MemoryGuards: reached by the functions of vramguard.h.
#pragma once

#include <memory>

#include "core/process_guard.h"

namespace vramguard {

// After the program's cuInit. Null where there is no guard of that device in this process, or one that is too old.
std::shared_ptr<ProcessGuard> find_preload_guard(int device);

}  // namespace vramguard
