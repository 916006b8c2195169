// The shape of an array and what follows from it alone: whether it is allowed, how much memory it needs, its parts.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/sim_driver/abi.h"

namespace vgsim {

struct ArrayShape {
  std::uint64_t width, height, depth;  // in elements; 0 where there is no such dimension
  CUarray_format format;
  unsigned int channels;
  unsigned int flags;
  unsigned int levels;  // of a mip chain; 0: an array by itself

  bool is_layered() const { return (flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0; }
  bool is_sparse() const { return (flags & CUDA_ARRAY3D_SPARSE) != 0; }
  bool is_deferred() const { return (flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0; }
};

inline constexpr std::uint64_t kArrayStep = 64 * 1024;  // what an array's memory is a multiple of

// Whether the driver takes this shape: known format and flags, extents within the device's limits.
bool is_valid_shape(const ArrayShape& shape);

// The levels a mip chain can have at most.
unsigned int longest_chain(const ArrayShape& shape);

// The memory of all levels, layers and planes, in steps of 64 KiB.
std::uint64_t required_bytes(const ArrayShape& shape);

// Level and plane as arrays of their own; empty where there is none.
std::optional<ArrayShape> level_of(const ArrayShape& shape, unsigned int level);
std::optional<ArrayShape> plane_of(const ArrayShape& shape, unsigned int plane);

// Bytes of a row and number of rows, as a copy counts them; and slices or layers.
std::uint64_t row_bytes(const ArrayShape& shape);
std::uint64_t row_count(const ArrayShape& shape);
std::uint64_t slice_count(const ArrayShape& shape);

CUDA_ARRAY_SPARSE_PROPERTIES_v1 sparse_properties(const ArrayShape& shape);

}  // namespace vgsim
