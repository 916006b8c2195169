#include "shim/device_list.h"

#include "shim/driver.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string_view>

namespace vramguard {

namespace {

std::string uuid_text(std::string text, const abi::CUuuid& uuid) {
  char byte[4];
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += byte;
  }
  return text;
}

// The first version names the whole GPU, the second a MIG instance by its own UUID.
std::string uuid_of(abi::CUdevice device) {
  abi::CUuuid gpu{}, instance{};
  const bool has_gpu = ask(&DriverQueries::cuDeviceGetUuid, &gpu, device) == abi::CUDA_SUCCESS;
  const bool has_instance = ask(&DriverQueries::cuDeviceGetUuid_v2, &instance, device) == abi::CUDA_SUCCESS;
  if (!has_instance) return has_gpu ? uuid_text("GPU", gpu) : std::string();
  const bool mig = has_gpu && std::memcmp(gpu.bytes, instance.bytes, sizeof gpu.bytes) != 0;
  return uuid_text(mig ? "MIG" : "GPU", instance);
}

// The kernel module's, as nvidia-smi shows it.
std::string module_version() {
  const int file = open("/sys/module/nvidia/version", O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  char text[64];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  const std::string_view line(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  return std::string(line.substr(0, line.find('\n')));
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
    char name[64] = "";
    ask(&DriverQueries::cuDeviceGetName, name, static_cast<int>(sizeof name), device);
    devices.push_back({ordinal, uuid_of(device), pci, total, name});
  }
  return devices;
}

std::string driver_version() {
  if (std::string module = module_version(); !module.empty()) return module;
  int version = 0;
  if (ask(&DriverQueries::cuDriverGetVersion, &version) != abi::CUDA_SUCCESS) return "";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace vramguard
