// The devices that the program sees, as the driver names them.
#pragma once

#include <string>
#include <vector>

#include "core/device_info.h"

namespace vramguard {

// After cuInit. Needs no context and makes none. Empty when the driver does not answer. May throw std::bad_alloc.
std::vector<DeviceInfo> list_devices();

// "580.159.04" as nvidia-smi shows it, else "13.0" as CUDA numbers it; "" if nobody says.
std::string driver_version();

}  // namespace vramguard
