// Which budget holds for which device: the names and sizes of the configuration, applied to devices that exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/guard_config.h"

namespace vramguard {

// One device as the program sees it. A plain value that owns nothing.
struct DeviceIdentity {
  std::string_view uuid;        // "GPU-8f6e1c1a-..."; empty if unknown
  std::string_view pci_bus_id;  // "0000:3b:00.0"; empty if unknown
  int ordinal = 0;              // the program's own, with CUDA_VISIBLE_DEVICES applied
};

// The bytes that `size` means where there are `total`; a share is cut to whole bytes. kUnlimitedBytes without a limit.
Bytes bytes_of(const Size& size, Bytes total) noexcept;

// The budget of a device of `total` bytes: the stronger source first, then the most precise name, then the general
// budget; shares are of the device; never above the device or the administrator's cap. UINT64_MAX (kUnlimitedBytes)
// without one.
Bytes resolve_budget(const GuardConfig& config, std::string_view uuid, std::string_view pci_bus_id, int ordinal,
                     Bytes total) noexcept;

// `budget` under the administrator's cap, and never above the device's `total`.
Bytes capped(const GuardConfig& config, Bytes budget, Bytes total) noexcept;

// The sentinel of a device: the most precise name first, then the general one. Under the administrator's cap "all"
// becomes that many bytes.
Sentinel resolve_sentinel(const GuardConfig& config, std::string_view uuid, std::string_view pci_bus_id,
                          int ordinal) noexcept;

// Names in the configuration that fit no device, or (a shortened UUID) several: for a warning. Each as it was written.
struct DoubtfulNames {
  std::vector<std::string> unmatched;
  std::vector<std::string> ambiguous;  // the budget holds for every device that the name fits
};
DoubtfulNames doubtful_names(const GuardConfig& config, const std::vector<DeviceIdentity>& devices);

}  // namespace vramguard
