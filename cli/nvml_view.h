// The cards and who uses them, as NVML tells.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/state/process_state.h"

namespace vramguard {

struct NvmlProcess {
  pid_t pid = 0;  // as the driver numbers it: most often in the host's pid namespace
  std::uint64_t bytes = kStateUnknown;
};

struct NvmlDevice {
  unsigned index = 0;
  std::string uuid, pci_bus_id, name;
  std::uint64_t total_bytes = kStateUnknown, free_bytes = kStateUnknown;
  std::vector<NvmlProcess> processes;  // those that compute
};

enum class NvmlAnswer {
  Told,
  Missing,  // no NVML, or no driver behind it
  Failed,
  Stuck,  // no answer in time
};
const char* to_string(NvmlAnswer answer) noexcept;

struct NvmlView {
  NvmlAnswer answer = NvmlAnswer::Missing;
  std::string driver_version;
  std::vector<NvmlDevice> devices;
};

inline constexpr std::chrono::milliseconds kNvmlPatience{500};

// Asks in a process of its own: a thread that a broken driver holds in the kernel could not be left behind, and the
// program would not end. Forks. For one thread.
class NvmlObserver {
 public:
  NvmlObserver() = default;
  NvmlObserver(const NvmlObserver&) = delete;
  ~NvmlObserver();

  // As long as one that was asked before is stuck, nobody else is sent.
  NvmlView look(std::chrono::milliseconds patience = kNvmlPatience);

 private:
  bool still_stuck();
  pid_t stuck_ = -1;
};

}  // namespace vramguard
