#include "tests/sim_driver/array_objects.h"
#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"

// Memory for deferred and sparse arrays: which handle each part holds, and no more.
namespace vgsim {
namespace {

ArrayObject* find_resource(const CUarrayMapInfo_v1& info) {
  switch (info.resourceType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return arrays().arrays.find(info.resource.array);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return arrays().mipmaps.find(info.resource.mipmap);
  }
  return nullptr;
}

// The two types of parts have different first numbers.
Subresource subresource_of(const ArrayObject& array, const CUarrayMapInfo_v1& info) {
  if (array.shape.is_deferred()) return {};
  if (info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL)
    return {1, info.subresource.miptail.layer, info.subresource.miptail.offset};
  const auto& part = info.subresource.sparseLevel;
  return {0, part.level, part.layer, part.offsetX, part.offsetY, part.offsetZ};
}

bool is_for_device(const CUarrayMapInfo_v1& info, const Device& device) {
  return info.deviceBitMask == 1U << device.ordinal;
}

CUresult check_mapping(const ArrayObject& array, const CUarrayMapInfo_v1& info, const Device& device) {
  if (info.memHandleType != CU_MEM_HANDLE_TYPE_GENERIC) return CUDA_ERROR_INVALID_VALUE;
  const auto handle = find_handle(info.memHandle.memHandle);
  if (!handle || handle->memory->device() != &device) return CUDA_ERROR_INVALID_VALUE;
  const bool tile_pool = (handle->memory->properties().allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) != 0;
  if (!array.shape.is_deferred()) return tile_pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t bytes = handle->memory->bytes();
  const bool fits = info.offset <= bytes && required_bytes(array.shape) <= bytes - info.offset;
  return fits && info.offset % kArrayStep == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check(const CUarrayMapInfo_v1& info, const Device& device) {
  const ArrayObject* array = find_resource(info);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  if (array->whole || (!array->shape.is_sparse() && !array->shape.is_deferred())) return CUDA_ERROR_INVALID_VALUE;
  if (info.flags != 0 || !is_for_device(info, device)) return CUDA_ERROR_INVALID_VALUE;
  switch (info.memOperationType) {
    case CU_MEM_OPERATION_TYPE_MAP:
      return check_mapping(*array, info, device);
    case CU_MEM_OPERATION_TYPE_UNMAP:
      return info.memHandle.memHandle == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

void apply(const CUarrayMapInfo_v1& info) {
  ArrayObject& array = *find_resource(info);
  const Subresource part = subresource_of(array, info);
  if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP)
    array.backing[part] = find_handle(info.memHandle.memHandle);
  else
    array.backing.erase(part);
}

// All or nothing.
CUresult map_arrays(const CUarrayMapInfo_v1* list, unsigned int count, CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!list || count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const auto refused = refuse_capture(stream)) return *refused;
  for (unsigned int i = 0; i < count; ++i) {
    if (const CUresult result = check(list[i], *context->device); result != CUDA_SUCCESS) return result;
  }
  for (unsigned int i = 0; i < count; ++i) apply(list[i]);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemMapArrayAsync, (CUarrayMapInfo_v1 * list, unsigned int count, CUstream stream),
          map_arrays(list, count, stream))
VGSIM_API(cuMemMapArrayAsync_ptsz, (CUarrayMapInfo_v1 * list, unsigned int count, CUstream stream),
          map_arrays(list, count, per_thread(stream)))
