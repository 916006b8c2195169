#include "tests/sim_driver/managed.h"

#include <sys/mman.h>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"

namespace vgsim {
namespace {

// Real memory at an address on a page of the device; 0 where there is none.
std::uint64_t map_pages(std::uint64_t bytes) {
  const std::uint64_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* start =
      mmap(nullptr, rounded + kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return 0;
  const auto address = reinterpret_cast<std::uint64_t>(start);
  const std::uint64_t aligned = (address + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (aligned > address) munmap(start, aligned - address);
  if (const std::uint64_t tail = address + kPageBytes - aligned; tail > 0)
    munmap(reinterpret_cast<void*>(aligned + rounded), tail);
  return aligned;
}

CUresult alloc_managed(CUdeviceptr* out, std::size_t bytes, unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > (1ULL << 46)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t address = map_pages(bytes);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation& allocation = driver().allocations[address];
  allocation.address = address;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::Managed;
  allocation.context = context;
  allocation.device = context->device;
  allocation.id = driver().next_id++;
  allocation.flags = flags;
  *out = address;
  return CUDA_SUCCESS;
}

Allocation* managed_range(std::uint64_t address, std::uint64_t bytes) {
  Allocation* allocation = find_allocation(address);
  if (!allocation || allocation->kind != MemoryKind::Managed || bytes == 0) return nullptr;
  return bytes <= allocation->address + allocation->bytes - address ? allocation : nullptr;
}

constexpr CUdevice kHost = -1;  // CU_DEVICE_CPU

CUdevice device_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : kHost;
}

CUresult prefetch(std::uint64_t address, std::size_t bytes, CUdevice to, CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (const auto refused = refuse_capture(stream)) return *refused;
  Allocation* allocation = managed_range(address, bytes);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  if (to == kHost) {
    move_to_host(*allocation, address, bytes);
    return CUDA_SUCCESS;
  }
  Device* device = find_device(to);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  touch_on_device(*allocation, address, bytes, *device, true);
  return CUDA_SUCCESS;
}

CUresult advise(std::uint64_t address, std::size_t bytes, CUmem_advise advice, CUdevice device) {
  Allocation* allocation = managed_range(address, bytes);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != kHost && !find_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) allocation->prefers_host = device == kHost;
  if (advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION) allocation->prefers_host = false;
  return CUDA_SUCCESS;
}

// Where only a preferred location says anything about the device, the location of other advice does not matter.
CUresult advise_at(std::uint64_t address, std::size_t bytes, CUmem_advise advice, const CUmemLocation& location) {
  return advise(address, bytes, advice, device_of(location));
}

}  // namespace

// A page that the device has no room for stays on the host, as it would after the driver evicted it.
bool touch_on_device(Allocation& allocation, std::uint64_t address, std::uint64_t bytes, Device& device,
                     bool prefetched) {
  if (allocation.prefers_host && !prefetched) return true;
  if (allocation.device != &device) {
    move_to_host(allocation, allocation.address, allocation.bytes);
    allocation.device = &device;
  }
  for (std::uint64_t page = address / kPageBytes; page <= (address + bytes - 1) / kPageBytes; ++page) {
    if (allocation.resident_pages.count(page) != 0) continue;
    if (!driver().take(device, kPageBytes)) return false;
    allocation.resident_pages.insert(page);
  }
  return true;
}

void move_to_host(Allocation& allocation, std::uint64_t address, std::uint64_t bytes) {
  const auto first = allocation.resident_pages.lower_bound(address / kPageBytes);
  const auto last = allocation.resident_pages.upper_bound((address + bytes - 1) / kPageBytes);
  driver().give(*allocation.device, static_cast<std::uint64_t>(std::distance(first, last)) * kPageBytes);
  allocation.resident_pages.erase(first, last);
}

void end_managed(Allocation& allocation) {
  move_to_host(allocation, allocation.address, allocation.bytes);
  munmap(reinterpret_cast<void*>(allocation.address), (allocation.bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
}

}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemAllocManaged, (CUdeviceptr * out, std::size_t bytes, unsigned int flags),
          alloc_managed(out, bytes, flags))
VGSIM_API(cuMemPrefetchAsync, (CUdeviceptr address, std::size_t bytes, CUdevice to, CUstream stream),
          prefetch(address, bytes, to, stream))
VGSIM_API(cuMemPrefetchAsync_ptsz, (CUdeviceptr address, std::size_t bytes, CUdevice to, CUstream stream),
          prefetch(address, bytes, to, per_thread(stream)))
VGSIM_API(cuMemPrefetchAsync_v2,
          (CUdeviceptr address, std::size_t bytes, CUmemLocation to, unsigned int, CUstream stream),
          prefetch(address, bytes, device_of(to), stream))
VGSIM_API(cuMemPrefetchAsync_v2_ptsz,
          (CUdeviceptr address, std::size_t bytes, CUmemLocation to, unsigned int, CUstream stream),
          prefetch(address, bytes, device_of(to), per_thread(stream)))
VGSIM_API(cuMemAdvise, (CUdeviceptr address, std::size_t bytes, CUmem_advise advice, CUdevice device),
          advise(address, bytes, advice, device))
VGSIM_API(cuMemAdvise_v2, (CUdeviceptr address, std::size_t bytes, CUmem_advise advice, CUmemLocation location),
          advise_at(address, bytes, advice, location))
