#include "tests/sim_driver/identity.h"

#include <cstdint>
#include <cstdio>

namespace vgsim {
namespace {

std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

DeviceIdentity device_identity(int physical_index) {
  DeviceIdentity identity;
  const auto seed = static_cast<std::uint64_t>(physical_index) + 1;
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(mixed(seed * 2 + (i >= 8)) >> (8 * (i % 8)));
  for (int i = 0; i < 16; ++i) identity.uuid.bytes[i] = static_cast<char>(bytes[i]);
  char text[64];
  std::snprintf(text, sizeof text, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", bytes[0],
                bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], bytes[10],
                bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]);
  identity.uuid_text = text;
  identity.pci_bus = 0x3b + 0x0c * physical_index;
  std::snprintf(text, sizeof text, "0000:%02x:00.0", identity.pci_bus);
  identity.pci_bus_id = text;
  return identity;
}

}  // namespace vgsim
