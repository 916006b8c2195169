#include "tests/sim_driver/call.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/memory_data.h"

namespace vgsim {
namespace {

// One side of a copy of rows.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  std::uint64_t x, y, pitch;
};

CUresult row_range(const Side& side, std::uint64_t row, std::uint64_t width, Access access, DataRange& range) {
  const std::uint64_t offset = (side.y + row) * side.pitch + side.x;
  switch (side.type) {
    case CU_MEMORYTYPE_HOST:
      return host_range(static_cast<const std::byte*>(side.host) + offset, range);
    case CU_MEMORYTYPE_DEVICE:
      return device_range(side.device + offset, width, access, range);
    case CU_MEMORYTYPE_UNIFIED:
      return any_range(side.device + offset, width, access, range);
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_rows(Side to, Side from, std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  for (Side* side : {&to, &from}) {
    if (side->pitch == 0) side->pitch = width + side->x;
    if (side->pitch < width + side->x) return CUDA_ERROR_INVALID_VALUE;
    if (side->type == CU_MEMORYTYPE_HOST && !side->host) return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::uint64_t row = 0; row < height; ++row) {
    DataRange source{}, target{};
    if (const CUresult result = row_range(from, row, width, Access::Read, source); result != CUDA_SUCCESS)
      return result;
    if (const CUresult result = row_range(to, row, width, Access::Write, target); result != CUDA_SUCCESS) return result;
    copy_data(target, source, width);
  }
  return CUDA_SUCCESS;
}

template <class Copy>
CUresult copy_2d(const Copy* copy, CUstream stream = nullptr) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!copy) return CUDA_ERROR_INVALID_VALUE;
  const Side to{copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes, copy->dstY, copy->dstPitch};
  const Side from{copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes, copy->srcY, copy->srcPitch};
  return copy_rows(to, from, copy->WidthInBytes, copy->Height);
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemcpy2D, (const CUDA_MEMCPY2D_v1* copy), copy_2d(copy))
VGSIM_API(cuMemcpy2D_v2, (const CUDA_MEMCPY2D_v2* copy), copy_2d(copy))
VGSIM_API(cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D_v2* copy), copy_2d(copy))
VGSIM_API(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D_v1* copy), copy_2d(copy))
VGSIM_API(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D_v2* copy), copy_2d(copy))
VGSIM_API(cuMemcpy2DUnaligned_v2_ptds, (const CUDA_MEMCPY2D_v2* copy), copy_2d(copy))
VGSIM_API(cuMemcpy2DAsync, (const CUDA_MEMCPY2D_v1* copy, CUstream stream), copy_2d(copy, stream))
VGSIM_API(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D_v2* copy, CUstream stream), copy_2d(copy, stream))
VGSIM_API(cuMemcpy2DAsync_v2_ptsz, (const CUDA_MEMCPY2D_v2* copy, CUstream stream), copy_2d(copy, stream))
