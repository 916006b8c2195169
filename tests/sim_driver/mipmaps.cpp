#include <algorithm>

#include "tests/sim_driver/array_calls.h"
#include "tests/sim_driver/call.h"

namespace vgsim {
namespace {

// More levels than halving gives are as many as it gives.
CUresult create(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR_v2* wanted, unsigned int levels) {
  if (!out || !wanted || !are_flags_known(wanted->Flags)) return CUDA_ERROR_INVALID_VALUE;
  ArrayShape shape = shape_of(*wanted, 1);
  shape.levels = std::clamp(levels, 1U, longest_chain(shape));
  ArrayObject mipmap;
  if (const CUresult result = make_array(shape, mipmap); result != CUDA_SUCCESS) return result;
  *out = arrays().mipmaps.add<CUmipmappedArray>(std::move(mipmap));
  return CUDA_SUCCESS;
}

CUresult destroy(CUmipmappedArray handle) {
  ArrayObject* mipmap = arrays().mipmaps.find(handle);
  if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
  end_array(*mipmap);
  arrays().mipmaps.remove(handle);
  return CUDA_SUCCESS;
}

CUresult get_level(CUarray* out, CUmipmappedArray handle, unsigned int level) {
  ArrayObject* mipmap = arrays().mipmaps.find(handle);
  if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
  const auto shape = level_of(mipmap->shape, level);
  if (!out || !shape) return CUDA_ERROR_INVALID_VALUE;
  *out = part_of(*mipmap, level, *shape);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMipmappedArrayCreate,
          (CUmipmappedArray * out, const CUDA_ARRAY3D_DESCRIPTOR_v2* wanted, unsigned int levels),
          create(out, wanted, levels))
VGSIM_API(cuMipmappedArrayDestroy, (CUmipmappedArray mipmap), destroy(mipmap))
VGSIM_API(cuMipmappedArrayGetLevel, (CUarray * out, CUmipmappedArray mipmap, unsigned int level),
          get_level(out, mipmap, level))
VGSIM_API(cuMipmappedArrayGetMemoryRequirements,
          (CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 * out, CUmipmappedArray mipmap, CUdevice device),
          memory_requirements(arrays().mipmaps.find(mipmap), device, out))
VGSIM_API(cuMipmappedArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES_v1 * out, CUmipmappedArray mipmap),
          get_sparse_properties(arrays().mipmaps.find(mipmap), out))
