#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/memory_copy_box.h"

namespace vgsim {
namespace {

template <class Copy>
CUresult copy_2d(const Copy* copy, CUstream stream = nullptr) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!copy) return CUDA_ERROR_INVALID_VALUE;
  const CopySide to{copy->dstMemoryType,
                    copy->dstHost,
                    copy->dstDevice,
                    copy->dstArray,
                    copy->dstXInBytes,
                    copy->dstY,
                    0,
                    copy->dstPitch,
                    0};
  const CopySide from{copy->srcMemoryType,
                      copy->srcHost,
                      copy->srcDevice,
                      copy->srcArray,
                      copy->srcXInBytes,
                      copy->srcY,
                      0,
                      copy->srcPitch,
                      0};
  return copy_box_in_order(stream, to, from, copy->WidthInBytes, copy->Height, 1);
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
VGSIM_API(cuMemcpy2DAsync_v2_ptsz, (const CUDA_MEMCPY2D_v2* copy, CUstream stream), copy_2d(copy, per_thread(stream)))
