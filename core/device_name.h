// The ways a user can name a GPU: "GPU-8f6e..." (a UUID, full or shortened), "pci:0000:3b:00.0", "cuda:0".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramguard {

// From the least to the most precise.
enum class DeviceNameKind { Ordinal, PciAddress, Uuid };

// "0000:3b:00.0" as one number, so that it can be compared however it was written.
using PciAddress = std::uint64_t;

// A name that was understood. A plain value; `uuid` points into the text that was parsed.
struct DeviceName {
  DeviceNameKind kind = DeviceNameKind::Ordinal;
  std::string_view uuid;  // with its "GPU-" or "MIG-"
  PciAddress pci = 0;
  int ordinal = 0;
};

// nullopt when `text` is none of the three forms.
std::optional<DeviceName> parse_device_name(std::string_view text) noexcept;

// "3b:00.0", "0000:3b:00.0" or "00000000:3B:00.0".
std::optional<PciAddress> parse_pci_address(std::string_view text) noexcept;

// True if `name` names the device with this identity. A UUID may be shortened to its first four or more hexadecimal
// digits, and case does not matter. An empty `uuid` or `pci_bus_id` is unknown and matches nothing.
bool names_device(const DeviceName& name, std::string_view uuid, std::string_view pci_bus_id, int ordinal) noexcept;

// True if both are written for the same device in the same way ("cuda:0" and "CUDA:0", not "cuda:0" and its UUID).
bool same_name(const DeviceName& a, const DeviceName& b) noexcept;

}  // namespace vramguard
