// What tells one physical device from another: UUID, PCI address. Stable, and the same for CUDA and NVML.
#pragma once

#include <string>

#include "tests/sim_driver/abi.h"

namespace vgsim {

struct DeviceIdentity {
  CUuuid uuid;
  std::string uuid_text;  // GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
  int pci_bus;
  std::string pci_bus_id;  // 0000:3b:00.0
};

DeviceIdentity device_identity(int physical_index);

}  // namespace vgsim
