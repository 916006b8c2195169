// Which address programs get in place of a driver function's own. By address: the one that cuGetProcAddress returns is
// that of an exported symbol, whatever name, version and flags led to it.
#pragma once

#include "shim/preload/contract.h"

namespace vramguard {

// What a program gets that asked for `symbol` and was given `address` by the driver: our entry if that is a driver
// function that we wrap, else `address`. A function of the table at an address that we do not know, as a newer driver's
// next version of it would be, is noted. Thread-safe.
void* replacement_of(const char* symbol, void* address) noexcept;

// Calls visit(name) for each function noted since the last time, and never twice for one. Thread-safe.
void take_unguarded(void (*visit)(const char* name, void* context), void* context) noexcept;

}  // namespace vramguard
