// What programs see of the card: the budget, where they are meant to size themselves by it.
#include <algorithm>

#include "shim/current_device.h"

namespace vramguard::entry {

namespace {

bool shows_budget(const Guard& guard) { return guard.config().virtualize != Virtualize::None; }

// The driver has filled in the card's own numbers. They are narrowed, never widened: what is not the program's to use
// is not shown, and what the card does not have is not promised.
template <typename Size>
void narrow(Size* value, Bytes limit) {
  if (value != nullptr) *value = static_cast<Size>(std::min<Bytes>(*value, limit));
}

template <typename Size>
CUresult memory_info(CUresult (*DriverFunctions::*function)(Size*, Size*), Size* free_bytes, Size* total_bytes) {
  const CUresult result = forward(function, free_bytes, total_bytes);
  if (result != CUDA_SUCCESS) return result;
  const CurrentDevice where = current_device();
  if (!where || !shows_budget(*where.guard)) return result;
  where.guard->measure_missed(*where.device);
  narrow(free_bytes, where.device->memory.free());
  narrow(total_bytes, where.device->memory.budget());
  return result;
}

template <typename Size>
CUresult total_memory(CUresult (*DriverFunctions::*function)(Size*, CUdevice), Size* bytes, CUdevice ordinal) {
  const CUresult result = forward(function, bytes, ordinal);
  Guard* guard = vramguard::guard();
  GuardedDevice* device = guard != nullptr ? guard->device(ordinal) : nullptr;
  if (result == CUDA_SUCCESS && device != nullptr && shows_budget(*guard)) narrow(bytes, device->memory.budget());
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
