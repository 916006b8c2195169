// What programs see of the card: the budget, where they are meant to size themselves by it.
#include <algorithm>

#include "shim/current_device.h"
#include "shim/visible_memory.h"

namespace vramguard::entry {

namespace {

// One of the outputs may be missing; the driver has filled in the others.
template <typename Size>
CUresult memory_info(CUresult (*DriverFunctions::*function)(Size*, Size*), Size* free_bytes, Size* total_bytes) {
  const CUresult result = forward(function, free_bytes, total_bytes);
  if (result != CUDA_SUCCESS) return result;
  const CurrentDevice where = current_device();
  if (!where || !shows_budget(where.guard->config(), false)) return result;
  const auto seen = visible_memory(*where.guard, *where.device, total_bytes != nullptr ? *total_bytes : kUnlimitedBytes,
                                   free_bytes != nullptr ? *free_bytes : kUnlimitedBytes);
  if (!seen) return result;
  if (free_bytes != nullptr) *free_bytes = static_cast<Size>(seen->free);
  if (total_bytes != nullptr) *total_bytes = static_cast<Size>(seen->total);
  return result;
}

template <typename Size>
CUresult total_memory(CUresult (*DriverFunctions::*function)(Size*, CUdevice), Size* bytes, CUdevice ordinal) {
  const CUresult result = forward(function, bytes, ordinal);
  Guard* guard = vramguard::guard();
  GuardedDevice* device = guard != nullptr ? guard->device(ordinal) : nullptr;
  if (result != CUDA_SUCCESS || bytes == nullptr || device == nullptr || !shows_budget(guard->config(), false))
    return result;
  *bytes = static_cast<Size>(std::min<Bytes>(*bytes, device->memory.budget()));
  return result;
}

}  // namespace

CUresult cuMemGetInfo(unsigned int* free_bytes, unsigned int* total_bytes) {
  return memory_info(&DriverFunctions::cuMemGetInfo, free_bytes, total_bytes);
}

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return memory_info(&DriverFunctions::cuMemGetInfo_v2, free_bytes, total_bytes);
}

CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice device) {
  return total_memory(&DriverFunctions::cuDeviceTotalMem, bytes, device);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return total_memory(&DriverFunctions::cuDeviceTotalMem_v2, bytes, device);
}

}  // namespace vramguard::entry
