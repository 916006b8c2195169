#include "tests/sim_driver/array_shape.h"

#include <algorithm>

#include "tests/sim_driver/array_format.h"
#include "tests/sim_driver/array_limits.h"

namespace vgsim {
namespace {

constexpr std::uint64_t kGobWidth = 64;        // bytes
constexpr std::uint64_t kGobHeight = 8;        // rows; a GOB is the unit that blocks are made of
constexpr std::uint64_t kMaxBlockHeight = 16;  // GOBs
constexpr std::uint64_t kMaxBlockDepth = 32;   // slices

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }
std::uint64_t rounded_up(std::uint64_t value, std::uint64_t step) { return divided_up(value, step) * step; }

std::uint64_t power_of_two_from(std::uint64_t value) {
  std::uint64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

std::uint64_t halved(std::uint64_t extent, unsigned int times) { return std::max<std::uint64_t>(extent >> times, 1); }

bool has_slices(const ArrayShape& shape) { return !shape.is_layered() && shape.depth > 1; }
std::uint64_t layers(const ArrayShape& shape) {
  return shape.is_layered() ? std::max<std::uint64_t>(shape.depth, 1) : 1;
}

// A block is one GOB wide. Flat arrays have it up to 16 GOBs high, arrays with slices one GOB high and up to 32 slices
// deep; both as low as fits the level.
struct Block {
  std::uint64_t rows, slices;
  std::uint64_t bytes() const { return kGobWidth * rows * slices; }
};

struct Level {
  std::uint64_t row_bytes, rows, slices;
  Block block;
  std::uint64_t bytes() const {
    return rounded_up(row_bytes, kGobWidth) * rounded_up(rows, block.rows) * rounded_up(slices, block.slices);
  }
};

Level level_layout(const ArrayShape& shape, unsigned int level) {
  const Texel texel = texel_of(shape.format, shape.channels);
  Level layout{};
  layout.row_bytes = divided_up(halved(shape.width, level), texel.block) * texel.bytes;
  layout.rows = divided_up(halved(shape.height, level), texel.block);
  layout.slices = has_slices(shape) ? halved(shape.depth, level) : 1;
  const std::uint64_t gobs = divided_up(layout.rows, kGobHeight);
  if (has_slices(shape))
    layout.block = {kGobHeight, std::min(kMaxBlockDepth, power_of_two_from(layout.slices))};
  else
    layout.block = {kGobHeight * std::min(kMaxBlockHeight, power_of_two_from(gobs)), 1};
  return layout;
}

std::uint64_t levels_bytes(const ArrayShape& shape, unsigned int first) {
  std::uint64_t sum = 0;
  for (unsigned int level = first; level < std::max(shape.levels, 1U); ++level)
    sum += level_layout(shape, level).bytes();
  return sum;
}

// Every layer has a whole chain and begins on a block of the largest level.
std::uint64_t unrounded_bytes(const ArrayShape& shape) {
  const std::uint64_t chain = levels_bytes(shape, 0);
  if (layers(shape) == 1) return chain;
  return rounded_up(chain, level_layout(shape, 0).block.bytes()) * layers(shape);
}

struct Extent {
  std::uint64_t width, height, depth;
};

// The standard shapes of 64 KiB.
Extent sparse_tile(const ArrayShape& shape) {
  const Texel texel = texel_of(shape.format, shape.channels);
  Extent tile = has_slices(shape) ? Extent{64, 32, 32} : Extent{256, 256, 1};
  // Each doubling of the element halves one extent, in this order.
  std::uint64_t Extent::*const flat[] = {&Extent::height, &Extent::width, &Extent::height, &Extent::width};
  std::uint64_t Extent::*const deep[] = {&Extent::width, &Extent::depth, &Extent::height, &Extent::width};
  int halving = 0;
  for (std::uint64_t bytes = texel.bytes; bytes > 1; bytes /= 2)
    tile.*(has_slices(shape) ? deep : flat)[halving++] /= 2;
  return {tile.width * texel.block, tile.height * texel.block, tile.depth};
}

bool is_smaller(const ArrayShape& shape, unsigned int level, const Extent& tile) {
  return halved(shape.width, level) < tile.width || halved(shape.height, level) < tile.height ||
         (has_slices(shape) && halved(shape.depth, level) < tile.depth);
}

}  // namespace

bool is_valid_shape(const ArrayShape& shape) {
  return is_format(shape.format, shape.channels) && fits_planes(shape) && is_within_limits(shape);
}

unsigned int longest_chain(const ArrayShape& shape) {
  std::uint64_t longest = std::max(shape.width, shape.height);
  if (!shape.is_layered()) longest = std::max(longest, shape.depth);
  unsigned int levels = 1;
  while (longest >>= 1) ++levels;
  return levels;
}

std::uint64_t required_bytes(const ArrayShape& shape) {
  std::uint64_t sum = 0;
  if (is_planar(shape.format)) {
    for (unsigned int plane = 0; const auto part = plane_of(shape, plane); ++plane) sum += unrounded_bytes(*part);
  } else {
    sum = unrounded_bytes(shape);
  }
  return rounded_up(sum, kArrayStep);
}

std::optional<ArrayShape> level_of(const ArrayShape& shape, unsigned int level) {
  if (level >= shape.levels) return std::nullopt;
  ArrayShape part = shape;
  part.levels = 0;
  part.width = halved(shape.width, level);
  if (shape.height != 0) part.height = halved(shape.height, level);
  if (shape.depth != 0 && !shape.is_layered()) part.depth = halved(shape.depth, level);
  return part;
}

std::optional<ArrayShape> plane_of(const ArrayShape& shape, unsigned int plane) {
  const auto planar = planar_format(shape.format);
  if (!planar || plane > 1) return std::nullopt;
  ArrayShape part = shape;
  part.format = planar->bytes == 1 ? CU_AD_FORMAT_UNSIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT16;
  part.channels = plane + 1;
  if (plane == 1) {
    part.width /= 2;
    part.height /= planar->rows;
  }
  return part;
}

std::uint64_t row_bytes(const ArrayShape& shape) { return level_layout(shape, 0).row_bytes; }
std::uint64_t row_count(const ArrayShape& shape) { return level_layout(shape, 0).rows; }
std::uint64_t slice_count(const ArrayShape& shape) { return std::max<std::uint64_t>(shape.depth, 1); }

CUDA_ARRAY_SPARSE_PROPERTIES_v1 sparse_properties(const ArrayShape& shape) {
  const Extent tile = sparse_tile(shape);
  CUDA_ARRAY_SPARSE_PROPERTIES_v1 properties{};
  properties.tileExtent = {static_cast<unsigned int>(tile.width), static_cast<unsigned int>(tile.height),
                           static_cast<unsigned int>(tile.depth)};
  const unsigned int levels = std::max(shape.levels, 1U);
  unsigned int first = 0;
  while (first < levels && !is_smaller(shape, first, tile)) ++first;
  if (first == levels) return properties;
  properties.miptailFirstLevel = first;
  if (shape.levels == 0) {
    properties.flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
    properties.miptailSize = required_bytes(shape);
  } else {
    properties.miptailSize = rounded_up(levels_bytes(shape, first), kArrayStep);
  }
  return properties;
}

}  // namespace vgsim
