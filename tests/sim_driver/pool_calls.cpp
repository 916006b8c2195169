#include "tests/sim_driver/call.h"
#include "tests/sim_driver/memory_pools.h"

namespace vgsim {
namespace {

// The device of a location; nullptr for the host.
CUresult device_at(const CUmemLocation& location, Device*& device) {
  device = nullptr;
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      device = find_device(location.id);
      return device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_INVALID:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult create(CUmemoryPool* out, const CUmemPoolProps* props) {
  if (!out || !props) return CUDA_ERROR_INVALID_VALUE;
  if (props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_NOT_SUPPORTED;
  if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if ((props->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  Device* device = nullptr;
  if (const CUresult result = device_at(props->location, device); result != CUDA_SUCCESS) return result;
  *out = make_pool(*props, device)->pool_handle();
  return CUDA_SUCCESS;
}

// Live allocations keep the memory until the last of them is freed.
CUresult destroy(CUmemoryPool handle) {
  if (pools().imported.erase(handle) != 0) return CUDA_SUCCESS;
  const auto pool = find_pool(handle);
  if (!pool || pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  if (const auto current = pools().current_of.find(pool->device);
      current != pools().current_of.end() && current->second == pool)
    pools().current_of.erase(current);
  if (pools().host_current == pool) pools().host_current = nullptr;
  pools().own.erase(handle);
  return CUDA_SUCCESS;
}

CUresult trim_to(CUmemoryPool handle, std::size_t keep) {
  const auto pool = find_pool(handle);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  pool->trim(keep);
  return CUDA_SUCCESS;
}

template <class Value>
CUresult put(void* data, Value value) {
  *static_cast<Value*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult get_attribute(const MemoryPool& pool, CUmemPool_attribute attribute, void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return put<int>(value, pool.reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES]);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return put<cuuint64_t>(value, pool.threshold);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return put<cuuint64_t>(value, pool.reserved.current);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return put<cuuint64_t>(value, pool.reserved.high);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return put<cuuint64_t>(value, pool.used.current);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return put<cuuint64_t>(value, pool.used.high);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// An imported pool takes nothing in this process.
CUresult get_attribute(CUmemPool_attribute attribute, void* value) {
  if (attribute < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES || attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    return CUDA_ERROR_INVALID_VALUE;
  return attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? put<int>(value, 0) : put<cuuint64_t>(value, 0);
}

CUresult get_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  if (find_imported_pool(handle)) return get_attribute(attribute, value);
  const auto pool = find_pool(handle);
  return pool ? get_attribute(*pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult reset_high(Watermark& mark, const void* value) {
  if (*static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  mark.reset_high();
  return CUDA_SUCCESS;
}

CUresult set_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, const void* value) {
  const auto pool = find_pool(handle);
  if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *static_cast<const int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool->threshold = *static_cast<const cuuint64_t*>(value);
      pools().unsettled.insert(pool.get());
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return reset_high(pool->reserved, value);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return reset_high(pool->used, value);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult set_access(CUmemoryPool handle, const CUmemAccessDesc* map, std::size_t count) {
  const auto pool = find_pool(handle);
  if ((!pool && !find_imported_pool(handle)) || (!map && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    Device* device = nullptr;
    if (const CUresult result = device_at(map[i].location, device); result != CUDA_SUCCESS) return result;
    // A device cannot be kept from its own memory.
    if (pool && device == pool->device && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; pool && i < count; ++i)
    if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE) pool->access[map[i].location.id] = map[i].flags;
  return CUDA_SUCCESS;
}

CUresult get_access(CUmemAccess_flags* out, CUmemoryPool handle, const CUmemLocation* location) {
  if (!out || !location) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (const CUresult result = device_at(*location, device); result != CUDA_SUCCESS) return result;
  const auto pool = find_pool(handle);
  const ImportedPool* imported = pool ? nullptr : find_imported_pool(handle);
  if (!pool && !imported) return CUDA_ERROR_INVALID_VALUE;
  *out = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (device == (pool ? pool->device : imported->device)) {
    *out = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  } else if (pool && device) {
    const auto found = pool->access.find(device->ordinal);
    if (found != pool->access.end()) *out = found->second;
  }
  return CUDA_SUCCESS;
}

CUresult pool_of(CUmemoryPool* out, CUdevice ordinal, std::shared_ptr<MemoryPool> (*get)(Device*)) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = get(device)->pool_handle();
  return CUDA_SUCCESS;
}

CUresult set_pool_of(CUdevice ordinal, CUmemoryPool handle) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  return set_current_pool(device, handle);
}

CUresult pinned_at(const CUmemLocation* location, CUmemAllocationType type, Device*& device) {
  if (!location) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_NOT_SUPPORTED;
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  return device_at(*location, device);
}

CUresult pool_at(CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type,
                 std::shared_ptr<MemoryPool> (*get)(Device*)) {
  Device* device = nullptr;
  if (const CUresult result = pinned_at(location, type, device); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = get(device)->pool_handle();
  return CUDA_SUCCESS;
}

CUresult set_pool_at(const CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
  Device* device = nullptr;
  if (const CUresult result = pinned_at(location, type, device); result != CUDA_SUCCESS) return result;
  return set_current_pool(device, handle);
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemPoolCreate, (CUmemoryPool * out, const CUmemPoolProps* props), create(out, props))
VGSIM_API(cuMemPoolDestroy, (CUmemoryPool pool), destroy(pool))
VGSIM_API(cuMemPoolTrimTo, (CUmemoryPool pool, std::size_t keep), trim_to(pool, keep))
VGSIM_API(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void* value),
          get_attribute(pool, attribute, value))
VGSIM_API(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void* value),
          set_attribute(pool, attribute, value))
VGSIM_API(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc* map, std::size_t count),
          set_access(pool, map, count))
VGSIM_API(cuMemPoolGetAccess, (CUmemAccess_flags * out, CUmemoryPool pool, CUmemLocation* location),
          get_access(out, pool, location))
VGSIM_API(cuDeviceGetDefaultMemPool, (CUmemoryPool * out, CUdevice device), pool_of(out, device, default_pool))
VGSIM_API(cuDeviceGetMemPool, (CUmemoryPool * out, CUdevice device), pool_of(out, device, current_pool))
VGSIM_API(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool), set_pool_of(device, pool))
VGSIM_API(cuMemGetDefaultMemPool, (CUmemoryPool * out, CUmemLocation* location, CUmemAllocationType type),
          pool_at(out, location, type, default_pool))
VGSIM_API(cuMemGetMemPool, (CUmemoryPool * out, CUmemLocation* location, CUmemAllocationType type),
          pool_at(out, location, type, current_pool))
VGSIM_API(cuMemSetMemPool, (CUmemLocation * location, CUmemAllocationType type, CUmemoryPool pool),
          set_pool_at(location, type, pool))
