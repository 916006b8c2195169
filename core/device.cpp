#include "core/device.h"

namespace vramguard {

std::string to_string(const DeviceDescription& device) {
  std::string text = "cuda:" + std::to_string(device.ordinal);
  if (!device.name.empty()) text += " " + device.name;
  text += ", " + format_bytes(device.total_bytes);
  if (device.uuid.empty() && device.pci_bus_id.empty()) return text;
  const char* between = device.uuid.empty() || device.pci_bus_id.empty() ? "" : ", ";
  return text + " (" + device.uuid + between + device.pci_bus_id + ")";
}

}  // namespace vramguard
