#include <algorithm>
#include <limits>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/mappings.h"
#include "tests/sim_driver/memory_owner.h"

namespace vgsim {
namespace {

constexpr int kHostOrdinal = -1;  // CU_DEVICE_CPU

template <class Size>
Size clamped(std::uint64_t value) {
  return static_cast<Size>(std::min<std::uint64_t>(value, std::numeric_limits<Size>::max()));
}

template <class Size>
CUresult get_info(Size* free, Size* total) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const DeviceUse use = driver().shared->use(context->device->physical);
  if (free) *free = clamped<Size>(use.total - std::min(use.used, use.total));
  if (total) *total = clamped<Size>(use.total);
  return CUDA_SUCCESS;
}

template <class Address, class Size>
CUresult address_range(Address* base, Size* size, std::uint64_t address) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const Allocation* allocation = find_allocation(address);
  if (!allocation) return CUDA_ERROR_NOT_FOUND;
  if (base) *base = static_cast<Address>(allocation->address);
  if (size) *size = static_cast<Size>(allocation->bytes);
  return CUDA_SUCCESS;
}

bool on_host(const Allocation& allocation) {
  return allocation.kind == MemoryKind::Host || allocation.kind == MemoryKind::RegisteredHost || !allocation.device;
}

unsigned long long allowed_handle_types(const Allocation& allocation) {
  if (!allocation.mapping) return 0;
  return static_cast<unsigned long long>(allocation.mapping->handle->memory->properties().requestedHandleTypes);
}

template <class Value>
CUresult put(void* data, Value value) {
  *static_cast<Value*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult pointer_attribute(void* data, CUpointer_attribute attribute, std::uint64_t address) {
  if (!data) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = find_allocation(address);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, handle_of(allocation->context));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put<unsigned int>(data, on_host(*allocation) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put<CUdeviceptr>(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (allocation->kind == MemoryKind::Mapped) return CUDA_ERROR_INVALID_VALUE;
      if (!on_host(*allocation) && allocation->kind != MemoryKind::Managed) return CUDA_ERROR_INVALID_VALUE;
      return put(data, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put<unsigned long long>(data, allocation->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put<int>(data, allocation->kind == MemoryKind::Managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put<int>(data, allocation->device ? allocation->device->ordinal : kHostOrdinal);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put<int>(data, allocation->kind == MemoryKind::Linear);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put<CUdeviceptr>(data, allocation->address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put<std::size_t>(data, allocation->bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put<unsigned char>(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put<unsigned long long>(data, allowed_handle_types(*allocation));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put<CUmemoryPool>(data, allocation->owner ? allocation->owner->pool_handle() : nullptr);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

std::size_t attribute_bytes(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return 4;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return 1;
    default:
      return 8;
  }
}

// Succeeds for any pointer: what is not known is answered with zeros, and the ordinal with -2 (no device).
CUresult pointer_attributes(unsigned int count, CUpointer_attribute* attributes, void** data, std::uint64_t address) {
  if (!attributes || !data) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned int i = 0; i < count; ++i) {
    if (!data[i]) return CUDA_ERROR_INVALID_VALUE;
    if (pointer_attribute(data[i], attributes[i], address) == CUDA_SUCCESS) continue;
    std::fill_n(static_cast<unsigned char*>(data[i]), attribute_bytes(attributes[i]), static_cast<unsigned char>(0));
    if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) put<int>(data[i], -2);
  }
  return CUDA_SUCCESS;
}

CUresult set_pointer_attribute(std::uint64_t address) {
  return find_allocation(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemGetInfo, (unsigned int* free, unsigned int* total), get_info(free, total))
VGSIM_API(cuMemGetInfo_v2, (std::size_t * free, std::size_t* total), get_info(free, total))
VGSIM_API(cuMemGetAddressRange, (CUdeviceptr_v1 * base, unsigned int* size, CUdeviceptr_v1 address),
          address_range(base, size, address))
VGSIM_API(cuMemGetAddressRange_v2, (CUdeviceptr * base, std::size_t* size, CUdeviceptr address),
          address_range(base, size, address))
VGSIM_API(cuPointerGetAttribute, (void* data, CUpointer_attribute attribute, CUdeviceptr address),
          pointer_attribute(data, attribute, address))
VGSIM_API(cuPointerGetAttributes,
          (unsigned int count, CUpointer_attribute* attributes, void** data, CUdeviceptr address),
          pointer_attributes(count, attributes, data, address))
VGSIM_API(cuPointerSetAttribute, (const void*, CUpointer_attribute, CUdeviceptr address),
          set_pointer_attribute(address))
