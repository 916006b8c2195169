#include "tests/sim_driver/array_format.h"

namespace vgsim {
namespace {

struct Format {
  unsigned int channels;  // 0: any number
  std::uint64_t bytes, block;
};

std::optional<Format> find_format(CUarray_format format) {
  switch (format) {
#define VGSIM_ARRAY_FORMAT(name, value, channels, bytes, block) \
  case name:                                                    \
    return Format{channels, bytes, block};
#define VGSIM_PLANAR_FORMAT(name, value, bytes, rows) \
  case name:                                          \
    return std::nullopt;
#include "tests/sim_driver/array_formats.inc"
#undef VGSIM_PLANAR_FORMAT
#undef VGSIM_ARRAY_FORMAT
  }
  return std::nullopt;
}

}  // namespace

bool is_format(CUarray_format format, unsigned int channels) {
  if (is_planar(format)) return channels == 3;
  const auto found = find_format(format);
  if (!found) return false;
  if (found->channels != 0) return channels == found->channels;
  return channels == 1 || channels == 2 || channels == 4;
}

Texel texel_of(CUarray_format format, unsigned int channels) {
  const auto found = find_format(format);
  if (!found) return {1, 1};
  return {found->channels != 0 ? found->bytes : found->bytes * channels, found->block};
}

std::optional<PlanarFormat> planar_format(CUarray_format format) {
  switch (format) {
#define VGSIM_ARRAY_FORMAT(name, value, channels, bytes, block) \
  case name:                                                    \
    return std::nullopt;
#define VGSIM_PLANAR_FORMAT(name, value, bytes, rows) \
  case name:                                          \
    return PlanarFormat{bytes, rows};
#include "tests/sim_driver/array_formats.inc"
#undef VGSIM_PLANAR_FORMAT
#undef VGSIM_ARRAY_FORMAT
  }
  return std::nullopt;
}

}  // namespace vgsim
