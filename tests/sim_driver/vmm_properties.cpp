#include "tests/sim_driver/vmm_properties.h"

namespace vgsim {
namespace {

constexpr int kAllHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_WIN32 |
                                CU_MEM_HANDLE_TYPE_WIN32_KMT | CU_MEM_HANDLE_TYPE_FABRIC;

}  // namespace

CUresult check_properties(const CUmemAllocationProp& prop, Device*& device) {
  device = nullptr;
  const int types = prop.requestedHandleTypes;
  if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED || (types & ~kAllHandleTypes) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((types & (CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT)) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  switch (prop.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      device = find_device(prop.location.id);
      return device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
      return types == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return prop.location.id >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:  // only for memory pools, says cuda.h
    case CU_MEM_LOCATION_TYPE_INVALID:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace vgsim
