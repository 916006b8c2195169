// What one element of an array takes.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/sim_driver/abi.h"

namespace vgsim {

// `bytes` for a square of `block` times `block` elements.
struct Texel {
  std::uint64_t bytes;
  std::uint64_t block;
};

// A plane of brightness and one of colour with half the width and 1 / `rows` of the height.
struct PlanarFormat {
  std::uint64_t bytes;  // of one value
  std::uint64_t rows;
};

// Whether there is such a format, and with so many channels.
bool is_format(CUarray_format format, unsigned int channels);

// Of a format that is not planar.
Texel texel_of(CUarray_format format, unsigned int channels);

std::optional<PlanarFormat> planar_format(CUarray_format format);
inline bool is_planar(CUarray_format format) { return planar_format(format).has_value(); }

}  // namespace vgsim
