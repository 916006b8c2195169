// The management library: what it says of this process and of the card. Loaded when the first context is created.
#pragma once

#include <string>
#include <vector>

#include "core/device_info.h"

namespace vramguard {

// Thread-safe. Never on the allocation path: a look at the processes costs 23 us (H200, driver 580).
class Nvml {
 public:
  explicit Nvml(const std::vector<DeviceInfo>& devices);

  void prepare() noexcept;
  // nullopt also where the number is 0 or hidden, as in some containers: nobody with a context uses nothing.
  std::optional<Bytes> bytes_of_this_process(int ordinal) noexcept;
  std::optional<Bytes> free_bytes(int ordinal) noexcept;

 private:
  struct Library;

  static Library* loaded() noexcept;
  void* handle(int ordinal) noexcept;

  std::vector<std::string> uuids_;
};

}  // namespace vramguard
