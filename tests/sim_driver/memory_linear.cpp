#include "tests/sim_driver/memory_linear.h"

#include <limits>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/synchronisation.h"

namespace vgsim {
namespace {

constexpr std::uint64_t kPitchStep = 512;

CUresult allocate(Context& context, std::uint64_t bytes, bool low, std::uint64_t& address) {
  Driver& state = driver();
  if (bytes > state.shared->total(context.device->physical)) return CUDA_ERROR_OUT_OF_MEMORY;
  LinearHeap& heap = low ? *context.low_heap : *context.heap;
  const auto place = heap.allocate(bytes, [&](std::uint64_t more) { return state.take(*context.device, more); });
  if (!place) return CUDA_ERROR_OUT_OF_MEMORY;
  address = *place;
  Allocation& allocation = state.allocations[address];
  allocation.address = address;
  allocation.bytes = bytes;
  allocation.context = &context;
  allocation.device = context.device;
  allocation.id = state.next_id++;
  return CUDA_SUCCESS;
}

// `Address` is CUdeviceptr, or CUdeviceptr_v1 for the functions of 32-bit programs.
template <class Address, class Size>
CUresult alloc(Address* out, Size bytes) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t address = 0;
  const CUresult result = allocate(*context, bytes, sizeof(Address) == 4, address);
  if (result == CUDA_SUCCESS) *out = static_cast<Address>(address);
  return result;
}

template <class Address, class Size>
CUresult alloc_pitch(Address* out, Size* pitch, Size width, Size height, unsigned int element) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out || !pitch || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  if (width > std::numeric_limits<std::uint64_t>::max() - kPitchStep) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t row = (width + kPitchStep - 1) / kPitchStep * kPitchStep;
  if (row > std::numeric_limits<Size>::max() || row > std::numeric_limits<std::uint64_t>::max() / height)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::uint64_t address = 0;
  const CUresult result = allocate(*context, row * height, sizeof(Address) == 4, address);
  if (result == CUDA_SUCCESS) {
    *out = static_cast<Address>(address);
    *pitch = static_cast<Size>(row);
  }
  return result;
}

}  // namespace

// Needs no current context.
CUresult free_memory(std::uint64_t address) {
  if (address == 0) return CUDA_SUCCESS;
  auto& allocations = driver().allocations;
  const auto found = allocations.find(address);
  if (found == allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  switch (found->second.kind) {
    case MemoryKind::Host:
    case MemoryKind::RegisteredHost:
    case MemoryKind::Mapped:
    case MemoryKind::IpcOpened:
      return CUDA_ERROR_INVALID_VALUE;
    case MemoryKind::Linear:
    case MemoryKind::Managed:
    case MemoryKind::Pool:
    case MemoryKind::External:
      break;
  }
  end_allocation(found);
  return CUDA_SUCCESS;
}

// Of stream-ordered memory it waits for the work: seen on H200, where a trim after it gives the memory back.
CUresult free_and_wait(std::uint64_t address) {
  const auto found = driver().allocations.find(address);
  const bool waits = found != driver().allocations.end() && found->second.kind == MemoryKind::Pool;
  const CUresult result = free_memory(address);
  if (waits && result == CUDA_SUCCESS) synchronise();
  return result;
}

}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemAlloc, (CUdeviceptr_v1 * out, unsigned int bytes), alloc(out, bytes))
VGSIM_API(cuMemAlloc_v2, (CUdeviceptr * out, std::size_t bytes), alloc(out, bytes))
VGSIM_API(cuMemAllocPitch,
          (CUdeviceptr_v1 * out, unsigned int* pitch, unsigned int width, unsigned int height, unsigned int element),
          alloc_pitch(out, pitch, width, height, element))
VGSIM_API(cuMemAllocPitch_v2,
          (CUdeviceptr * out, std::size_t* pitch, std::size_t width, std::size_t height, unsigned int element),
          alloc_pitch(out, pitch, width, height, element))
VGSIM_API(cuMemFree, (CUdeviceptr_v1 address), free_and_wait(address))
VGSIM_API(cuMemFree_v2, (CUdeviceptr address), free_and_wait(address))
