#include "tests/sim_driver/array_limits.h"

#include "tests/sim_driver/array_format.h"

namespace vgsim {
namespace {

constexpr unsigned int kAllFlags = 0x1ff;

// The extents of arrays are attributes of the device; only those of one kind are looked up here.
enum Limit : std::uint64_t {
#define VGSIM_ATTRIBUTE(name, number, value) LIMIT_##name = static_cast<std::uint64_t>(value),
#include "tests/sim_driver/device_attributes.inc"
#undef VGSIM_ATTRIBUTE
};
#define TEXTURE(extent) LIMIT_CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE##extent
#define SURFACE(extent) LIMIT_CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE##extent

struct Extents {
  std::uint64_t width, height, depth;  // 0: there must be no such dimension
};

bool is_at_most(std::uint64_t extent, std::uint64_t limit) {
  return limit == 0 ? extent == 0 : extent >= 1 && extent <= limit;
}

bool is_at_most(const ArrayShape& shape, const Extents& limit) {
  return is_at_most(shape.width, limit.width) && is_at_most(shape.height, limit.height) &&
         is_at_most(shape.depth, limit.depth);
}

bool has(const ArrayShape& shape, unsigned int flag) { return (shape.flags & flag) != 0; }

bool is_cubemap_allowed(const ArrayShape& shape) {
  if (shape.width != shape.height || shape.depth % 6 != 0) return false;
  if (has(shape, CUDA_ARRAY3D_LAYERED)) {
    const Extents limit{TEXTURE(CUBEMAP_LAYERED_WIDTH), TEXTURE(CUBEMAP_LAYERED_WIDTH),
                        TEXTURE(CUBEMAP_LAYERED_LAYERS)};
    const Extents surface{SURFACE(CUBEMAP_LAYERED_WIDTH), SURFACE(CUBEMAP_LAYERED_WIDTH),
                          SURFACE(CUBEMAP_LAYERED_LAYERS)};
    return is_at_most(shape, limit) && (!has(shape, CUDA_ARRAY3D_SURFACE_LDST) || is_at_most(shape, surface));
  }
  const Extents limit{TEXTURE(CUBEMAP_WIDTH), TEXTURE(CUBEMAP_WIDTH), 6};
  const Extents surface{SURFACE(CUBEMAP_WIDTH), SURFACE(CUBEMAP_WIDTH), 6};
  return is_at_most(shape, limit) && (!has(shape, CUDA_ARRAY3D_SURFACE_LDST) || is_at_most(shape, surface));
}

bool is_layered_allowed(const ArrayShape& shape) {
  const bool flat = shape.height != 0;
  const Extents limit = flat
                            ? Extents{TEXTURE(2D_LAYERED_WIDTH), TEXTURE(2D_LAYERED_HEIGHT), TEXTURE(2D_LAYERED_LAYERS)}
                            : Extents{TEXTURE(1D_LAYERED_WIDTH), 0, TEXTURE(1D_LAYERED_LAYERS)};
  const Extents surface =
      flat ? Extents{SURFACE(2D_LAYERED_WIDTH), SURFACE(2D_LAYERED_HEIGHT), SURFACE(2D_LAYERED_LAYERS)}
           : Extents{SURFACE(1D_LAYERED_WIDTH), 0, SURFACE(1D_LAYERED_LAYERS)};
  return is_at_most(shape, limit) && (!has(shape, CUDA_ARRAY3D_SURFACE_LDST) || is_at_most(shape, surface));
}

bool is_3d_allowed(const ArrayShape& shape) {
  const Extents limit{TEXTURE(3D_WIDTH), TEXTURE(3D_HEIGHT), TEXTURE(3D_DEPTH)};
  const Extents alternate{TEXTURE(3D_WIDTH_ALTERNATE), TEXTURE(3D_HEIGHT_ALTERNATE), TEXTURE(3D_DEPTH_ALTERNATE)};
  const Extents surface{SURFACE(3D_WIDTH), SURFACE(3D_HEIGHT), SURFACE(3D_DEPTH)};
  if (!is_at_most(shape, limit) && !is_at_most(shape, alternate)) return false;
  return !has(shape, CUDA_ARRAY3D_SURFACE_LDST) || is_at_most(shape, surface);
}

bool is_2d_allowed(const ArrayShape& shape) {
  Extents limit{TEXTURE(2D_WIDTH), TEXTURE(2D_HEIGHT), 0};
  if (shape.levels != 0) limit = {TEXTURE(2D_MIPMAPPED_WIDTH), TEXTURE(2D_MIPMAPPED_HEIGHT), 0};
  const Extents gather{TEXTURE(2D_GATHER_WIDTH), TEXTURE(2D_GATHER_HEIGHT), 0};
  const Extents surface{SURFACE(2D_WIDTH), SURFACE(2D_HEIGHT), 0};
  return is_at_most(shape, limit) && (!has(shape, CUDA_ARRAY3D_TEXTURE_GATHER) || is_at_most(shape, gather)) &&
         (!has(shape, CUDA_ARRAY3D_SURFACE_LDST) || is_at_most(shape, surface));
}

bool is_1d_allowed(const ArrayShape& shape) {
  const Extents limit{shape.levels != 0 ? TEXTURE(1D_MIPMAPPED_WIDTH) : TEXTURE(1D_WIDTH), 0, 0};
  const Extents surface{SURFACE(1D_WIDTH), 0, 0};
  return is_at_most(shape, limit) && (!has(shape, CUDA_ARRAY3D_SURFACE_LDST) || is_at_most(shape, surface));
}

}  // namespace

bool is_within_limits(const ArrayShape& shape) {
  if ((shape.flags & ~kAllFlags) != 0) return false;
  if (has(shape, CUDA_ARRAY3D_TEXTURE_GATHER) && (shape.is_layered() || shape.height == 0 || shape.depth != 0))
    return false;
  if (shape.is_sparse() && (shape.height == 0 || has(shape, CUDA_ARRAY3D_CUBEMAP))) return false;
  if (has(shape, CUDA_ARRAY3D_CUBEMAP)) return is_cubemap_allowed(shape);
  if (has(shape, CUDA_ARRAY3D_LAYERED)) return is_layered_allowed(shape);
  if (shape.depth != 0) return is_3d_allowed(shape);
  return shape.height != 0 ? is_2d_allowed(shape) : is_1d_allowed(shape);
}

bool fits_planes(const ArrayShape& shape) {
  const auto planar = planar_format(shape.format);
  if (!planar) return true;
  return !shape.is_layered() && !shape.is_sparse() && shape.depth == 0 && shape.levels == 0 && shape.height != 0 &&
         shape.width % 2 == 0 && shape.height % planar->rows == 0;
}

}  // namespace vgsim
