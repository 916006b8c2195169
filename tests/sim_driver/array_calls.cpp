#include "tests/sim_driver/array_calls.h"

#include "tests/sim_driver/driver_version.h"

namespace vgsim {
namespace {

constexpr int kFirstVersionWithDeferred = 11060;

}  // namespace

bool are_flags_known(unsigned int flags) {
  return kDriverVersion >= kFirstVersionWithDeferred || (flags & CUDA_ARRAY3D_DEFERRED_MAPPING) == 0;
}

CUresult memory_requirements(const ArrayObject* array, CUdevice device, CUDA_ARRAY_MEMORY_REQUIREMENTS_v1* out) {
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  if (!out || array->whole || !array->shape.is_deferred()) return CUDA_ERROR_INVALID_VALUE;
  if (!find_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *out = CUDA_ARRAY_MEMORY_REQUIREMENTS_v1{required_bytes(array->shape), kArrayStep, {}};
  return CUDA_SUCCESS;
}

CUresult get_sparse_properties(const ArrayObject* array, CUDA_ARRAY_SPARSE_PROPERTIES_v1* out) {
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  if (!out || array->whole || !array->shape.is_sparse()) return CUDA_ERROR_INVALID_VALUE;
  *out = sparse_properties(array->shape);
  return CUDA_SUCCESS;
}

}  // namespace vgsim
