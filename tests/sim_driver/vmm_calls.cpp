#include "tests/sim_driver/call.h"
#include "tests/sim_driver/mappings.h"
#include "tests/sim_driver/physical_memory.h"
#include "tests/sim_driver/vmm_properties.h"

namespace vgsim {
namespace {

CUresult create(CUmemGenericAllocationHandle* out, std::size_t bytes, const CUmemAllocationProp* prop,
                unsigned long long flags) {
  if (!out || !prop || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (const CUresult result = check_properties(*prop, device); result != CUDA_SUCCESS) return result;
  if (bytes == 0 || bytes % kPageBytes != 0) return CUDA_ERROR_INVALID_VALUE;
  // As measured: a fabric handle needs a service that a single machine does not run.
  if ((prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) != 0) return CUDA_ERROR_NOT_PERMITTED;
  auto memory = PhysicalMemory::create(device, bytes, *prop);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = add_handle(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult release(CUmemGenericAllocationHandle value) {
  const auto handle = find_handle(value);
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  release_handle(*handle);
  return CUDA_SUCCESS;
}

CUresult retain(CUmemGenericAllocationHandle* out, void* address) {
  const Allocation* allocation = find_allocation(reinterpret_cast<std::uint64_t>(address));
  if (!out || !allocation || allocation->kind != MemoryKind::Mapped) return CUDA_ERROR_INVALID_VALUE;
  retain_handle(allocation->mapping->handle);
  *out = allocation->mapping->handle->value;
  return CUDA_SUCCESS;
}

CUresult get_properties(CUmemAllocationProp* out, CUmemGenericAllocationHandle value) {
  const auto handle = find_handle(value);
  if (!out || !handle) return CUDA_ERROR_INVALID_VALUE;
  *out = handle->memory->properties();
  return CUDA_SUCCESS;
}

CUresult granularity(std::size_t* out, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags option) {
  if (!out || !prop) return CUDA_ERROR_INVALID_VALUE;
  if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
    return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (const CUresult result = check_properties(*prop, device); result != CUDA_SUCCESS) return result;
  *out = kPageBytes;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemCreate,
          (CUmemGenericAllocationHandle * out, std::size_t bytes, const CUmemAllocationProp* prop,
           unsigned long long flags),
          create(out, bytes, prop, flags))
VGSIM_API(cuMemRelease, (CUmemGenericAllocationHandle handle), release(handle))
VGSIM_API(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * out, void* address), retain(out, address))
VGSIM_API(cuMemGetAllocationPropertiesFromHandle, (CUmemAllocationProp * out, CUmemGenericAllocationHandle handle),
          get_properties(out, handle))
VGSIM_API(cuMemGetAllocationGranularity,
          (std::size_t * out, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags option),
          granularity(out, prop, option))
