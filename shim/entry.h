// The bodies of the wrapped driver functions, declared from the table. Each is defined in the file of its family; one
// with another signature does not compile, and a missing one does not link.
#pragma once

#include "shim/driver_abi.h"

namespace vramguard::entry {

using namespace vramguard::abi;

#define VG_DRIVER_FUNCTION(symbol, since, parameters) CUresult symbol parameters;
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION

}  // namespace vramguard::entry
