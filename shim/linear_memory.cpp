// Linear memory: plain and pitched allocations, and the frees that end them and managed ones.
#include "shim/linear_call.h"
#include "shim/streams.h"
#include "shim/uncancelled.h"

namespace vramguard::entry {

namespace {

// Rows are padded to this on every device seen so far; it only bounds the request, the driver tells the real pitch.
constexpr Bytes kPitchAlignment = 512;

// The 32-bit and the 64-bit forms differ in their types alone. Addresses of host memory need 64 bits.
template <typename Pointer, typename Call, typename Spill>
CUresult guarded(const Request& request, Call&& call, Spill&& spill) {
  if constexpr (sizeof(Pointer) == sizeof(CUdeviceptr)) {
    return guarded_linear(request, AllocationKind::Linear, call, spill);
  } else {
    return guarded_linear(request, AllocationKind::Linear, call);
  }
}

// A call without an output is the driver's to refuse.
template <typename Pointer, typename Size>
CUresult allocate(const char* api, CUresult (*DriverFunctions::*function)(Pointer*, Size), Pointer* dptr, Size bytes) {
  if (dptr == nullptr || bytes == 0) return forward(function, dptr, bytes);
  Pointer address = 0;
  const CUresult result = guarded<Pointer>(
      {api, bytes},
      [&](AddressRange& taken) {
        const CUresult answer = forward(function, &address, bytes);
        taken = {address, bytes};
        return answer;
      },
      [&](AddressRange& taken) {
        const CUresult answer = allocate_on_host(taken, bytes);
        address = static_cast<Pointer>(taken.address);
        return answer;
      });
  if (result == CUDA_SUCCESS) *dptr = address;
  return result;
}

template <typename Pointer, typename Size>
CUresult allocate_pitch(const char* api,
                        CUresult (*DriverFunctions::*function)(Pointer*, Size*, Size, Size, unsigned int),
                        Pointer* dptr, Size* pitch, Size width_bytes, Size height, unsigned int element_bytes) {
  if (dptr == nullptr || pitch == nullptr || width_bytes == 0 || height == 0) {
    return forward(function, dptr, pitch, width_bytes, height, element_bytes);
  }
  Pointer address = 0;
  Size row = 0;
  const Bytes widest = round_up(width_bytes, kPitchAlignment);
  const Bytes worst = saturating_product(widest, height);
  const CUresult result = guarded<Pointer>(
      {api, worst},
      [&](AddressRange& taken) {
        const CUresult answer = forward(function, &address, &row, width_bytes, height, element_bytes);
        taken = {address, saturating_product(row, height)};
        return answer;
      },
      [&](AddressRange& taken) {
        const CUresult answer = allocate_on_host(taken, worst);
        address = static_cast<Pointer>(taken.address);
        row = static_cast<Size>(widest);
        return answer;
      });
  if (result == CUDA_SUCCESS) {
    *dptr = address;
    *pitch = row;
  }
  return result;
}

// `call` makes the driver's call, which frees.
template <typename Call>
CUresult guarded_free(CUdeviceptr address, Call&& call) {
  Guard* guard = vramguard::guard();
  const std::optional<AllocationRecord> record = guard != nullptr ? guard->take(address) : std::nullopt;
  GuardedDevice* device = record ? guard->device(record->device) : nullptr;
  if (device == nullptr) return call();

  const Uncancelled uncancelled;
  device->memory.free_begins();
  const CUresult result = call();
  if (result == CUDA_SUCCESS) {
    guard->forget(address, *record);
  } else {
    guard->put_back(address, *record);
  }
  device->memory.free_ends();
  return result;
}

// On a capturing stream the free becomes a node of the graph, and the memory stays until the graph has run.
CUresult free_async(CUresult (*DriverFunctions::*function)(CUdeviceptr, CUstream), const StreamForm& form,
                    CUdeviceptr dptr, CUstream stream) {
  const Guard* guard = vramguard::guard();
  if (guard != nullptr && guard->captures_seen() && is_capturing(form, stream)) {
    return forward(function, dptr, stream);
  }
  return guarded_free(dptr, [&] { return forward(function, dptr, stream); });
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr_v1* dptr, unsigned int bytes) {
  return allocate("cuMemAlloc", &DriverFunctions::cuMemAlloc, dptr, bytes);
}

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytes) {
  return allocate("cuMemAlloc_v2", &DriverFunctions::cuMemAlloc_v2, dptr, bytes);
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* dptr, unsigned int* pitch, unsigned int width_bytes, unsigned int height,
                         unsigned int element_bytes) {
  return allocate_pitch("cuMemAllocPitch", &DriverFunctions::cuMemAllocPitch, dptr, pitch, width_bytes, height,
                        element_bytes);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pitch, size_t width_bytes, size_t height,
                            unsigned int element_bytes) {
  return allocate_pitch("cuMemAllocPitch_v2", &DriverFunctions::cuMemAllocPitch_v2, dptr, pitch, width_bytes, height,
                        element_bytes);
}

CUresult cuMemFree(CUdeviceptr_v1 dptr) {
  return guarded_free(dptr, [&] { return forward(&DriverFunctions::cuMemFree, dptr); });
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  return guarded_free(dptr, [&] { return forward(&DriverFunctions::cuMemFree_v2, dptr); });
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream stream) {
  return free_async(&DriverFunctions::cuMemFreeAsync, kLegacyStreams, dptr, stream);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream stream) {
  return free_async(&DriverFunctions::cuMemFreeAsync_ptsz, kPerThreadStreams, dptr, stream);
}

}  // namespace vramguard::entry
