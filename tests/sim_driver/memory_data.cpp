#include "tests/sim_driver/memory_data.h"

#include <cstring>

#include "tests/sim_driver/driver.h"
#include "tests/sim_driver/managed.h"
#include "tests/sim_driver/mappings.h"

namespace vgsim {
namespace {

// Data is made at the first write: until then everything reads as zeros.
std::byte* linear_data(Allocation& allocation, Access access) {
  Driver& state = driver();
  if (!allocation.data && access == Access::Write && allocation.bytes <= kKeptDataBytes - state.data_bytes) {
    allocation.data = std::make_unique<std::byte[]>(allocation.bytes);
    state.data_bytes += allocation.bytes;
  }
  return allocation.data.get();
}

}  // namespace

CUresult device_range(std::uint64_t address, std::uint64_t bytes, Access access, DataRange& range) {
  Allocation* allocation = find_allocation(address);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  if (allocation->kind == MemoryKind::Mapped) return mapped_range(address, bytes, access, range);
  const std::uint64_t offset = address - allocation->address;
  if (bytes > allocation->bytes - offset) return CUDA_ERROR_INVALID_VALUE;
  switch (allocation->kind) {
    case MemoryKind::Linear:
    case MemoryKind::Pool: {
      if (!allocation->device) {  // of a pool on the host
        range.data = reinterpret_cast<std::byte*>(address);
        return CUDA_SUCCESS;
      }
      std::byte* data = linear_data(*allocation, access);
      range.data = data ? data + offset : nullptr;
      return CUDA_SUCCESS;
    }
    case MemoryKind::Managed:
      touch_on_device(*allocation, address, bytes, *allocation->device);
      [[fallthrough]];
    case MemoryKind::Host:
    case MemoryKind::RegisteredHost:
      range.data = reinterpret_cast<std::byte*>(address);
      return CUDA_SUCCESS;
    case MemoryKind::IpcOpened:  // what is in another process's memory is not seen here
    case MemoryKind::External:
      range.data = nullptr;
      return CUDA_SUCCESS;
    case MemoryKind::Mapped:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult any_range(std::uint64_t address, std::uint64_t bytes, Access access, DataRange& range) {
  if (find_allocation(address)) return device_range(address, bytes, access, range);
  return host_range(reinterpret_cast<const void*>(address), range);
}

CUresult host_range(const void* pointer, DataRange& range) {
  if (!pointer) return CUDA_ERROR_INVALID_VALUE;
  range.data = static_cast<std::byte*>(const_cast<void*>(pointer));
  return CUDA_SUCCESS;
}

void copy_data(DataRange to, DataRange from, std::uint64_t bytes) {
  if (!to.data) return;
  if (from.data)
    std::memmove(to.data, from.data, bytes);
  else
    std::memset(to.data, 0, bytes);
}

}  // namespace vgsim
