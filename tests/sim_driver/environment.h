// What the VGSIM_* variables of this process say, read once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vgsim {

inline constexpr int kMaxDevices = 16;

struct DeviceSize {
  std::uint64_t total;
  std::optional<std::uint64_t> neighbour;  // empty: leave what is in the state file
};

struct EnvironmentFault {
  std::string name;
  int nth;
  int code;
};

// Immutable after construction, so any thread may read it.
struct Environment {
  std::string state_path;
  std::string trace_path;
  std::vector<DeviceSize> devices;
  std::vector<EnvironmentFault> faults;
  std::map<std::string, int> delays_ms;
  std::set<std::string> missing;
  std::string nvml_mode;
  bool integrated = false;         // the devices share the memory of the host, and NVML knows nothing of it
  int fastest = 0;                 // the physical device that comes first in CUDA's own order
  std::uint64_t module_bytes = 0;  // what each loaded module takes
  // Values that could not be understood; each is ignored.
  std::vector<std::string> problems;
};

// The name of a device's model: the fastest, where one was named, is of another than the rest.
std::string model_of(int physical_index);

Environment read_environment();

// The environment at the first call; never destroyed.
const Environment& environment();

}  // namespace vgsim
