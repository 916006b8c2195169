// What CUDA would call a device, told from the environment alone: for processes that ask NVML and never start CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramguard {

// A device as NVML lists it; a plain value. Empty: NVML does not say.
struct ListedDevice {
  std::string uuid, model;
};

// The number of the device `uuid` in a program that is started now, or -1: it would not be visible, or nobody but CUDA
// can tell. `listed` is in NVML's order, which is that of PCI. `visible` and `order` are CUDA_VISIBLE_DEVICES and
// CUDA_DEVICE_ORDER; null where they are not set.
int cuda_ordinal(std::string_view uuid, const std::vector<ListedDevice>& listed, const char* visible,
                 const char* order) noexcept;

}  // namespace vramguard
