#include <sys/mman.h>

#include <cstdlib>

#include "tests/sim_driver/call.h"

namespace vgsim {
namespace {

// Host memory is never the device's: it only has to be known, so that it can be asked about and freed.
void remember(void* pointer, std::uint64_t bytes, MemoryKind kind, unsigned int flags, Context* context) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  Allocation& allocation = driver().allocations[address];
  allocation.address = address;
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.context = context;
  allocation.device = context->device;
  allocation.id = driver().next_id++;
  allocation.flags = flags;
}

CUresult host_alloc(void** out, std::size_t bytes, unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out || bytes == 0 || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  remember(memory, bytes, MemoryKind::Host, flags, context);
  *out = memory;
  return CUDA_SUCCESS;
}

auto find_host(const void* pointer, MemoryKind kind) {
  auto& allocations = driver().allocations;
  const auto found = allocations.find(reinterpret_cast<std::uint64_t>(pointer));
  return found != allocations.end() && found->second.kind == kind ? found : allocations.end();
}

CUresult free_host(void* pointer) {
  if (!pointer) return CUDA_SUCCESS;
  const auto found = find_host(pointer, MemoryKind::Host);
  if (found == driver().allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  munmap(pointer, found->second.bytes);
  end_allocation(found);
  return CUDA_SUCCESS;
}

CUresult register_host(void* pointer, std::size_t bytes, unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (find_allocation(reinterpret_cast<std::uint64_t>(pointer))) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  remember(pointer, bytes, MemoryKind::RegisteredHost, flags, context);
  return CUDA_SUCCESS;
}

CUresult unregister_host(void* pointer) {
  const auto found = find_host(pointer, MemoryKind::RegisteredHost);
  if (found == driver().allocations.end()) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  end_allocation(found);
  return CUDA_SUCCESS;
}

const Allocation* host_allocation(const void* pointer) {
  const Allocation* allocation = find_allocation(reinterpret_cast<std::uint64_t>(pointer));
  const bool host =
      allocation && (allocation->kind == MemoryKind::Host || allocation->kind == MemoryKind::RegisteredHost);
  return host ? allocation : nullptr;
}

CUresult device_pointer(CUdeviceptr* out, void* pointer) {
  if (!out || !host_allocation(pointer)) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}

CUresult get_flags(unsigned int* out, void* pointer) {
  const Allocation* allocation = host_allocation(pointer);
  if (!out || !allocation) return CUDA_ERROR_INVALID_VALUE;
  *out = allocation->flags;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemAllocHost, (void** out, unsigned int bytes), host_alloc(out, bytes, 0))
VGSIM_API(cuMemAllocHost_v2, (void** out, std::size_t bytes), host_alloc(out, bytes, 0))
VGSIM_API(cuMemHostAlloc, (void** out, std::size_t bytes, unsigned int flags), host_alloc(out, bytes, flags))
VGSIM_API(cuMemFreeHost, (void* pointer), free_host(pointer))
VGSIM_API(cuMemHostRegister, (void* pointer, std::size_t bytes, unsigned int flags),
          register_host(pointer, bytes, flags))
VGSIM_API(cuMemHostRegister_v2, (void* pointer, std::size_t bytes, unsigned int flags),
          register_host(pointer, bytes, flags))
VGSIM_API(cuMemHostUnregister, (void* pointer), unregister_host(pointer))
VGSIM_API(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void* pointer, unsigned int), device_pointer(out, pointer))
VGSIM_API(cuMemHostGetFlags, (unsigned int* out, void* pointer), get_flags(out, pointer))
