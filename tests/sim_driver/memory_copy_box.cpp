#include "tests/sim_driver/memory_copy_box.h"

#include "tests/sim_driver/array_objects.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/memory_data.h"

namespace vgsim {
namespace {

CUresult row_range(const CopySide& side, std::uint64_t slice, std::uint64_t row, std::uint64_t width, Access access,
                   DataRange& range) {
  const std::uint64_t offset = ((side.z + slice) * side.height + side.y + row) * side.pitch + side.x;
  switch (side.type) {
    case CU_MEMORYTYPE_HOST:
      return host_range(static_cast<const std::byte*>(side.host) + offset, range);
    case CU_MEMORYTYPE_DEVICE:
      return device_range(side.device + offset, width, access, range);
    case CU_MEMORYTYPE_UNIFIED:
      return any_range(side.device + offset, width, access, range);
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_SUCCESS;  // checked as a whole
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Checks the side, and fills in the pitch and height that may be left out.
CUresult prepare(CopySide& side, std::uint64_t width, std::uint64_t height, std::uint64_t depth) {
  if (side.type == CU_MEMORYTYPE_ARRAY)
    return check_array_box(side.array, {side.x, side.y, side.z, width, height, depth});
  if (side.pitch == 0) side.pitch = width + side.x;
  if (side.height == 0) side.height = height + side.y;
  if (side.pitch < width + side.x) return CUDA_ERROR_INVALID_VALUE;
  if (depth > 1 && side.height < height + side.y) return CUDA_ERROR_INVALID_VALUE;
  return side.type == CU_MEMORYTYPE_HOST && !side.host ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult copy_box(CopySide to, CopySide from, std::uint64_t width, std::uint64_t height, std::uint64_t depth) {
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  for (CopySide* side : {&to, &from}) {
    if (const CUresult result = prepare(*side, width, height, depth); result != CUDA_SUCCESS) return result;
  }
  for (std::uint64_t slice = 0; slice < depth; ++slice) {
    for (std::uint64_t row = 0; row < height; ++row) {
      DataRange source{}, target{};
      if (const CUresult result = row_range(from, slice, row, width, Access::Read, source); result != CUDA_SUCCESS)
        return result;
      if (const CUresult result = row_range(to, slice, row, width, Access::Write, target); result != CUDA_SUCCESS)
        return result;
      copy_data(target, source, width);
    }
  }
  return CUDA_SUCCESS;
}

CUresult copy_box_in_order(CUstream stream, const CopySide& to, const CopySide& from, std::uint64_t width,
                           std::uint64_t height, std::uint64_t depth) {
  const auto work = [=] { return copy_box(to, from, width, height, depth); };
  if (const auto captured = capture_work(stream, CU_GRAPH_NODE_TYPE_MEMCPY, work)) return *captured;
  return work();
}

}  // namespace vgsim
