// Who a device is, and how its own numbers are read.
#pragma once

#include <optional>
#include <string>

#include "core/bytes.h"

namespace vramguard {

struct DeviceInfo {
  int ordinal;             // the program's: CUDA_VISIBLE_DEVICES applied
  std::string uuid;        // "GPU-8f6e1c1a-...": the identity everywhere but inside this process
  std::string pci_bus_id;  // "0000:3b:00.0"
  Bytes total_bytes;
};

// Thread-safe. What somebody else than our books says of a device; nullopt where nobody can tell (no NVML, a container
// that hides processes).
class DeviceReader {
 public:
  // Called on a thread of the program before the first look: the place to load a library.
  virtual void prepare() noexcept = 0;
  virtual std::optional<Bytes> bytes_of_this_process(int ordinal) noexcept = 0;
  virtual std::optional<Bytes> free_bytes(int ordinal) noexcept = 0;

 protected:
  ~DeviceReader() = default;
};

}  // namespace vramguard
