// Which address programs get in place of a driver function's own. By address: the one that cuGetProcAddress returns is
// that of an exported symbol, whatever name, version and flags led to it.
#pragma once

#include "shim/preload/contract.h"

namespace vramguard {

// Called by vramguard_core_attach, from any number of threads.
bool attach_replacements(const vg_preload_api& preload) noexcept;

// Our entry if `address` is a driver function that we wrap, else `address`. Thread-safe.
void* replacement_of(void* address) noexcept;

}  // namespace vramguard
