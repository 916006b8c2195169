// Memsets, for calls and for graph nodes.
#pragma once

#include <cstdint>

#include "tests/sim_driver/abi.h"

namespace vgsim {

// `width` elements of 1, 2 or 4 bytes in each of `height` rows that lie `pitch` bytes apart.
CUresult set_rows(CUdeviceptr address, std::uint64_t pitch, unsigned int value, unsigned int element_bytes,
                  std::uint64_t width, std::uint64_t height);

}  // namespace vgsim
