// Who uses the cards: guarded processes by what they tell, all others by NVML. What is shown, whatever shows it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/nvml_view.h"
#include "core/pressure_level.h"
#include "core/state/state_reader.h"

namespace vramguard {

// All texts of a table are printable.

struct TableDevice {
  std::string uuid, pci_bus_id, name;
  std::optional<unsigned> index;  // NVML's
  std::uint64_t total_bytes = kStateUnknown, free_bytes = kStateUnknown;
  std::uint64_t guarded_bytes = 0, unguarded_bytes = 0;  // by the rows; of who is unknown counts as unguarded
};

// "0", or the start of the UUID where NVML does not number it.
std::string short_name(const TableDevice& device);

// What one process has on one device.
struct TableUse {
  std::size_t device = 0;      // in ProcessTable::devices
  std::optional<int> ordinal;  // the program's own
  PressureLevel level = PressureLevel::None;
  std::uint64_t used_bytes = kStateUnknown;
  std::uint64_t budget_bytes = kStateUnknown;  // kStateUnknown: none
  std::uint64_t peak_bytes = kStateUnknown;
  std::uint64_t sentinel_bytes = 0;
  std::uint64_t refused = 0, returned = 0, recovered = 0;
};

enum class Guarded { Yes, No, Unknown };
const char* to_string(Guarded guarded) noexcept;  // "guarded", "unguarded", "unknown"

struct TableProcess {
  Guarded guarded = Guarded::Unknown;
  std::optional<pid_t> pid;      // as it is numbered here
  std::optional<pid_t> own_pid;  // in its own pid namespace
  std::optional<uid_t> uid;
  std::string user;
  std::string comm, command, group, mode, policy, version, log_path;
  std::string namespace_, pod, container, slurm_job;
  std::optional<std::int64_t> started_at_ms;
  std::vector<TableUse> uses;  // by device; none of one that uses none
};

// A group's members on one device.
struct TableGroup {
  std::string name;
  uid_t uid = 0;
  std::size_t device = 0;
  unsigned processes = 0;
  std::uint64_t used_bytes = 0, peak_bytes = 0, budget_bytes = kStateUnknown, refused = 0;
  PressureLevel level = PressureLevel::None;
};

struct ProcessTable {
  std::int64_t now_ms = 0;
  NvmlAnswer nvml = NvmlAnswer::Missing;
  std::string driver_version;
  std::vector<TableDevice> devices;     // those of NVML first, in its order
  std::vector<TableProcess> processes;  // guarded ones first, by start
  std::vector<TableGroup> groups;       // by device and name
  std::vector<std::string> records;     // of all, newest last
  std::vector<UnreadableState> unreadable;
};

ProcessTable make_table(const SeenProcesses& seen, const NvmlView& nvml, std::int64_t now_ms);

// Everything that can be seen from here; files of processes that have ended are folded and removed where this user may.
ProcessTable look_around(NvmlObserver& nvml);

}  // namespace vramguard
