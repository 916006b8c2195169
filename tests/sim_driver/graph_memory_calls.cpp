#include "tests/sim_driver/call.h"
#include "tests/sim_driver/graph_memory.h"

namespace vgsim {
namespace {

CUresult trim(CUdevice ordinal) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  graph_memory(*device).trim();
  return CUDA_SUCCESS;
}

CUresult get_attribute(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  DeviceGraphMemory& memory = graph_memory(*device);
  auto* out = static_cast<cuuint64_t*>(value);
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      *out = memory.used().current;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      *out = memory.used().high;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      *out = memory.reserved().current;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      *out = memory.reserved().high;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// The highest marks alone can be set, and only to 0, which makes them what is there now.
CUresult set_attribute(CUdevice ordinal, CUgraphMem_attribute attribute, const void* value) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!value || *static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  DeviceGraphMemory& memory = graph_memory(*device);
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      memory.used().reset_high();
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      memory.reserved().reset_high();
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuDeviceGraphMemTrim, (CUdevice device), trim(device))
VGSIM_API(cuDeviceGetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attribute, void* value),
          get_attribute(device, attribute, value))
VGSIM_API(cuDeviceSetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attribute, void* value),
          set_attribute(device, attribute, value))
