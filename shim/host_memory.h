// Memory of the host in the place of memory of the device: managed, with the host as its preferred place. It takes
// nothing of the device (H200, driver 580); a prefetch to the device or another advice would undo that, so those are
// swallowed for such ranges.
#pragma once

#include "shim/current_device.h"
#include "shim/relaxed_capture.h"

namespace vramguard {

// Undoes an allocation that turned out not to fit.
inline void undo_linear(abi::CUdeviceptr address) noexcept {
  const RelaxedCapture relaxed;
  forward(&DriverFunctions::cuMemFree_v2, address);
}

inline abi::CUresult prefer_host(const AddressRange& range) noexcept {
  const RelaxedCapture relaxed;
  return forward(&DriverFunctions::cuMemAdvise, range.address, range.bytes, abi::CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                 abi::CU_DEVICE_CPU);
}

// `bytes` of it. Nothing is left behind where the host cannot be made the preferred place.
inline abi::CUresult allocate_on_host(AddressRange& taken, Bytes bytes) noexcept {
  abi::CUdeviceptr address = 0;
  abi::CUresult result;
  {
    const RelaxedCapture relaxed;
    result = forward(&DriverFunctions::cuMemAllocManaged, &address, bytes, abi::CU_MEM_ATTACH_GLOBAL);
  }
  if (result != abi::CUDA_SUCCESS) return result;
  taken = {address, bytes};
  result = prefer_host(taken);
  if (result != abi::CUDA_SUCCESS) undo_linear(address);
  return result;
}

}  // namespace vramguard
