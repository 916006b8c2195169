// Freeing device memory, whichever family it came from.
#pragma once

#include <cstdint>

#include "tests/sim_driver/abi.h"

namespace vgsim {

// What cuMemFree does: NULL is nothing, anything that is not the start of device memory INVALID_VALUE.
CUresult free_memory(std::uint64_t address);

}  // namespace vgsim
