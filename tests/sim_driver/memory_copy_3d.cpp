#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/memory_copy_box.h"

namespace vgsim {
namespace {

template <class Copy>
CUresult copy_boxes(const Copy& copy, CUstream stream) {
  if (!are_levels_good(copy)) return CUDA_ERROR_INVALID_VALUE;
  return copy_box_in_order(stream, side_written(copy), side_read(copy), copy.WidthInBytes, copy.Height, copy.Depth);
}

template <class Copy>
CUresult copy_3d(const Copy* copy, CUstream stream = nullptr) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!copy || copy->reserved0 || copy->reserved1) return CUDA_ERROR_INVALID_VALUE;
  return copy_boxes(*copy, stream);
}

// The context of an array does not matter; that of host memory neither.
bool is_context_good(CUmemorytype type, CUcontext context) {
  return type == CU_MEMORYTYPE_ARRAY || type == CU_MEMORYTYPE_HOST || find_context(context);
}

CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER_v1* copy, CUstream stream = nullptr) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!copy) return CUDA_ERROR_INVALID_VALUE;
  if (!is_context_good(copy->srcMemoryType, copy->srcContext) ||
      !is_context_good(copy->dstMemoryType, copy->dstContext))
    return CUDA_ERROR_INVALID_CONTEXT;
  return copy_boxes(*copy, stream);
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemcpy3D, (const CUDA_MEMCPY3D_v1* copy), copy_3d(copy))
VGSIM_API(cuMemcpy3D_v2, (const CUDA_MEMCPY3D_v2* copy), copy_3d(copy))
VGSIM_API(cuMemcpy3D_v2_ptds, (const CUDA_MEMCPY3D_v2* copy), copy_3d(copy))
VGSIM_API(cuMemcpy3DAsync, (const CUDA_MEMCPY3D_v1* copy, CUstream stream), copy_3d(copy, stream))
VGSIM_API(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D_v2* copy, CUstream stream), copy_3d(copy, stream))
VGSIM_API(cuMemcpy3DAsync_v2_ptsz, (const CUDA_MEMCPY3D_v2* copy, CUstream stream), copy_3d(copy, per_thread(stream)))
VGSIM_API(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER_v1* copy), copy_3d_peer(copy))
VGSIM_API(cuMemcpy3DPeer_ptds, (const CUDA_MEMCPY3D_PEER_v1* copy), copy_3d_peer(copy))
VGSIM_API(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER_v1* copy, CUstream stream), copy_3d_peer(copy, stream))
VGSIM_API(cuMemcpy3DPeerAsync_ptsz, (const CUDA_MEMCPY3D_PEER_v1* copy, CUstream stream),
          copy_3d_peer(copy, per_thread(stream)))
