#include "shim/device_list.h"

#include <cstdio>

#include "shim/driver.h"

namespace vramguard {

namespace {

std::string uuid_text(const abi::CUuuid& uuid) {
  std::string text = "GPU";
  char byte[4];
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += byte;
  }
  return text;
}

std::string uuid_of(abi::CUdevice device) {
  abi::CUuuid uuid{};
  // The second version names a MIG instance by its own UUID.
  const bool known = ask(&DriverQueries::cuDeviceGetUuid_v2, &uuid, device) == abi::CUDA_SUCCESS ||
                     ask(&DriverQueries::cuDeviceGetUuid, &uuid, device) == abi::CUDA_SUCCESS;
  return known ? uuid_text(uuid) : std::string();
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices;
  int count = 0;
  if (ask(&DriverQueries::cuDeviceGetCount, &count) != abi::CUDA_SUCCESS) return devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    abi::CUdevice device = ordinal;
    if (ask(&DriverQueries::cuDeviceGet, &device, ordinal) != abi::CUDA_SUCCESS) break;
    char pci[32] = "";
    ask(&DriverQueries::cuDeviceGetPCIBusId, pci, static_cast<int>(sizeof pci), device);
    std::size_t total = 0;
    forward(&DriverFunctions::cuDeviceTotalMem_v2, &total, device);
    devices.push_back({ordinal, uuid_of(device), pci, total});
  }
  return devices;
}

std::string driver_version() {
  int version = 0;
  if (ask(&DriverQueries::cuDriverGetVersion, &version) != abi::CUDA_SUCCESS) return "";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace vramguard
