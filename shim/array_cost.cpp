#include "shim/array_cost.h"

#include <algorithm>

#include "shim/relaxed_capture.h"

namespace vramguard {

namespace {

using namespace abi;

Bytes bytes_of_format(int format) noexcept {
  switch (format) {
    case 0x01:  // 8-bit integers
    case 0x08:
      return 1;
    case 0x02:  // 16 bits
    case 0x09:
    case 0x10:
      return 2;
    default:  // 32 bits; block-compressed and planar formats take less
      return 4;
  }
}

// One level, laid out in blocks of 64 bytes by 8 rows.
Bytes level_bytes(const CUDA_ARRAY3D_DESCRIPTOR& d, unsigned int level) noexcept {
  const auto at_level = [level](std::size_t extent) { return std::max<Bytes>(level < 64 ? extent >> level : 0, 1); };
  const bool layered = (d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const Bytes row = round_up(saturating_product(at_level(d.Width), bytes_of_format(d.Format) * d.NumChannels), 64);
  const Bytes rows = d.Height > 0 ? round_up(at_level(d.Height), 8) : 1;
  const Bytes slices = layered ? std::max<Bytes>(d.Depth, 1) : at_level(d.Depth);
  return saturating_product(saturating_product(row, rows), slices);
}

Bytes estimate(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned int levels) noexcept {
  constexpr Bytes kStep = 64_KiB;
  Bytes sum = 0;
  for (unsigned int level = 0; level < std::clamp(levels, 1u, 32u); ++level) {
    const Bytes bytes = level_bytes(descriptor, level);
    sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
  }
  return round_up(sum, kStep);
}

// Makes the twin, asks it and destroys it. `levels` is the one more argument of mipmapped arrays.
template <typename Array, typename... Levels>
std::optional<Bytes> ask_twin(CUresult (*DriverFunctions::*create)(Array*, const CUDA_ARRAY3D_DESCRIPTOR*, Levels...),
                              CUresult (*DriverQueries::*requirement)(CUDA_ARRAY_MEMORY_REQUIREMENTS*, Array, CUdevice),
                              CUresult (*DriverFunctions::*destroy)(Array), CUdevice device,
                              const CUDA_ARRAY3D_DESCRIPTOR& shape, Levels... levels) noexcept {
  Array twin = nullptr;
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements{};
  if (forward(create, &twin, &shape, levels...) != CUDA_SUCCESS) return std::nullopt;
  const bool known = ask(requirement, &requirements, twin, device) == CUDA_SUCCESS;
  forward(destroy, twin);
  return known ? std::optional<Bytes>(requirements.size) : std::nullopt;
}

}  // namespace

std::optional<Bytes> array_requirement(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned int levels,
                                       CUdevice device) noexcept {
  if (driver().query.cuArrayGetMemoryRequirements == nullptr) return estimate(descriptor, levels);
  const RelaxedCapture relaxed;
  CUDA_ARRAY3D_DESCRIPTOR shape = descriptor;
  shape.Flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
  return levels == 0
             ? ask_twin(&DriverFunctions::cuArray3DCreate_v2, &DriverQueries::cuArrayGetMemoryRequirements,
                        &DriverFunctions::cuArrayDestroy, device, shape)
             : ask_twin(&DriverFunctions::cuMipmappedArrayCreate, &DriverQueries::cuMipmappedArrayGetMemoryRequirements,
                        &DriverFunctions::cuMipmappedArrayDestroy, device, shape, levels);
}

}  // namespace vramguard
