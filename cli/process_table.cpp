#include "cli/process_table.h"

#include "cli/process_finder.h"
#include "cli/recent_records.h"
#include "core/state/counters.h"
#include "core/state/state_text.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace vramguard {
namespace {

constexpr std::size_t kShortUuid = 12;  // GPU-8f6e1c1a

template <std::size_t N>
std::string shown(const char (&field)[N]) {
  return printable(state_text(field));
}

// Builds one table.
class TableMaker {
 public:
  explicit TableMaker(std::int64_t now_ms) { table_.now_ms = now_ms; }

  void add_devices(const NvmlView& nvml) {
    table_.nvml = nvml.answer;
    table_.driver_version = printable(nvml.driver_version);
    for (const NvmlDevice& told : nvml.devices) {
      TableDevice& device = table_.devices[device_of(printable(told.uuid))];
      device.index = told.index;
      device.name = printable(told.name);
      device.pci_bus_id = printable(told.pci_bus_id);
      device.total_bytes = told.total_bytes;
      device.free_bytes = told.free_bytes;
    }
  }

  void add_guarded(const SeenProcess& seen);
  void add_unguarded(const NvmlView& nvml);
  void add_groups();
  ProcessTable take() { return std::move(table_); }

  TableMaker(const TableMaker&) = delete;

 private:
  std::size_t device_of(const std::string& uuid);
  TableUse use_of(const DeviceState& state);
  TableProcess stranger(pid_t pid, const std::optional<FoundProcess>& found);
  std::string name_of(uid_t uid) {
    const auto [name, fresh] = users_.try_emplace(uid);
    if (fresh) name->second = printable(user_name(uid));
    return name->second;
  }

  ProcessTable table_;
  ProcessIndex index_;
  std::map<std::string, std::size_t> devices_;
  std::map<uid_t, std::string> users_;
  // Of the guarded ones: their own numbers, their starts, their users.
  std::set<std::tuple<pid_t, std::uint64_t, uid_t>> known_;
};

std::size_t TableMaker::device_of(const std::string& uuid) {
  const auto [known, fresh] = devices_.try_emplace(uuid, table_.devices.size());
  if (fresh) {
    table_.devices.emplace_back();
    table_.devices.back().uuid = uuid;
  }
  return known->second;
}

TableUse TableMaker::use_of(const DeviceState& state) {
  TableUse use;
  use.device = device_of(shown(state.uuid));
  use.ordinal = state.ordinal;
  use.level = static_cast<PressureLevel>(state.level);
  use.used_bytes = state.used_bytes;
  use.budget_bytes = state.budget_bytes;
  use.peak_bytes = state.peak_bytes;
  use.sentinel_bytes = state.sentinel_bytes;
  for (const std::uint64_t refused : state.refused) use.refused += refused;
  for (const std::uint64_t returned : state.returned) use.returned += returned;
  use.recovered = state.recovered;

  TableDevice& device = table_.devices[use.device];
  if (device.name.empty()) device.name = shown(state.name);
  if (device.pci_bus_id.empty()) device.pci_bus_id = shown(state.pci_bus_id);
  if (!device.index) {
    if (state.total_bytes != 0) device.total_bytes = state.total_bytes;
    device.free_bytes = state.device_free_bytes;
  }
  device.guarded_bytes += state.used_bytes + state.sentinel_bytes;
  return use;
}

void TableMaker::add_guarded(const SeenProcess& seen) {
  const ProcessState& state = seen.state;
  TableProcess process;
  process.guarded = Guarded::Yes;
  process.own_pid = state.pid;
  process.pid = seen.pid ? seen.pid : index_.pid_of(state.pid, state.start_ticks, seen.owner);
  process.uid = seen.owner;
  process.user = name_of(seen.owner);
  process.comm = shown(state.comm);
  process.command = shown(state.command);
  process.group = shown(state.group);
  process.mode = shown(state.mode);
  process.policy = shown(state.policy);
  process.version = shown(state.vramguard_version);
  process.log_path = shown(state.log_path);
  process.namespace_ = shown(state.namespace_);
  process.pod = shown(state.pod);
  process.container = shown(state.container);
  process.slurm_job = shown(state.slurm_job);
  process.started_at_ms = state.started_at_ms;
  for (std::uint32_t i = 0; i < state.device_count; ++i) {
    const DeviceState& device = state.devices[i];
    const bool in_use =
        device.used_bytes != 0 || device.peak_bytes != 0 || device.sentinel_bytes != 0 || device.allocations != 0;
    if (in_use) process.uses.push_back(use_of(device));
  }
  std::sort(process.uses.begin(), process.uses.end(),
            [](const TableUse& a, const TableUse& b) { return a.device < b.device; });
  known_.insert({state.pid, state.start_ticks, seen.owner});
  table_.processes.push_back(std::move(process));
}

TableProcess TableMaker::stranger(pid_t pid, const std::optional<FoundProcess>& found) {
  TableProcess process;
  process.pid = pid;
  const Mapped mapped = found ? what_is_mapped(pid) : Mapped::NoCuda;
  if (mapped == Mapped::NoCuda) return process;
  if (mapped == Mapped::Cuda) process.guarded = Guarded::No;
  process.own_pid = found->own_pid;
  process.uid = found->uid;
  process.user = name_of(found->uid);
  process.command = printable(found->command);
  process.started_at_ms = found->started_at_ms;
  return process;
}

// The driver knows processes by the host's numbers, and they know themselves by their own: the start tells that it is
// the same one.
void TableMaker::add_unguarded(const NvmlView& nvml) {
  constexpr std::size_t kGuarded = SIZE_MAX;
  std::map<pid_t, std::size_t> rows;
  for (const NvmlDevice& device : nvml.devices) {
    const std::size_t at = device_of(printable(device.uuid));
    for (const NvmlProcess& told : device.processes) {
      const auto [row, fresh] = rows.try_emplace(told.pid, kGuarded);
      if (fresh) {
        const std::optional<FoundProcess> found = find_process(told.pid);
        if (!found || known_.count({found->own_pid, found->start_ticks, found->uid}) == 0) {
          row->second = table_.processes.size();
          table_.processes.push_back(stranger(told.pid, found));
        }
      }
      if (row->second == kGuarded) continue;
      TableUse use;
      use.device = at;
      use.used_bytes = told.bytes;
      if (told.bytes != kStateUnknown) table_.devices[at].unguarded_bytes += told.bytes;
      table_.processes[row->second].uses.push_back(use);
    }
  }
}

void TableMaker::add_groups() {
  std::map<std::tuple<std::size_t, std::string, uid_t>, TableGroup> groups;
  for (const TableProcess& process : table_.processes) {
    if (process.group.empty()) continue;
    for (const TableUse& use : process.uses) {
      TableGroup& group = groups[{use.device, process.group, *process.uid}];
      group.name = process.group;
      group.uid = *process.uid;
      group.device = use.device;
      ++group.processes;
      group.used_bytes += use.used_bytes;
      group.budget_bytes = std::min(group.budget_bytes, use.budget_bytes);
      group.refused += use.refused;
      group.level = std::max(group.level, use.level);
    }
  }
  for (auto& [key, group] : groups) table_.groups.push_back(std::move(group));
}

std::int64_t wall_clock_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string short_name(const TableDevice& device) {
  return device.index ? std::to_string(*device.index) : device.uuid.substr(0, kShortUuid);
}

const char* to_string(Guarded guarded) noexcept {
  switch (guarded) {
    case Guarded::Yes:
      return "guarded";
    case Guarded::No:
      return "unguarded";
    case Guarded::Unknown:
      return "unknown";
  }
  return "";
}

ProcessTable make_table(const SeenProcesses& seen, const NvmlView& nvml, std::int64_t now_ms) {
  TableMaker maker(now_ms);
  maker.add_devices(nvml);
  for (const SeenProcess& process : seen.processes) {
    if (process.alive) maker.add_guarded(process);
  }
  maker.add_unguarded(nvml);
  maker.add_groups();
  ProcessTable table = maker.take();
  table.records = recent_records(seen);
  for (const UnreadableState& file : seen.unreadable) {
    table.unreadable.push_back({printable(file.path), file.why});
  }
  return table;
}

ProcessTable look_around(NvmlObserver& nvml) {
  const char* named = std::getenv("VRAMGUARD_STATE_DIR");
  const std::vector<StateFolder> folders = all_state_folders(named != nullptr ? named : "");
  // The states last: a process that starts meanwhile is not taken for one that is not guarded.
  const NvmlView view = nvml.look();
  ProcessTable table = make_table(read_states(folders), view, wall_clock_ms());
  for (const StateFolder& folder : folders) {
    if (folder.owner == geteuid()) fold_stale(folder);
  }
  return table;
}

}  // namespace vramguard
