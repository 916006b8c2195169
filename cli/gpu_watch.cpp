#include "cli/gpu_watch.h"

#include "cli/gpu_traces.h"
#include "core/state/process_state_file.h"
#include "core/state/state_reader.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>
#include <variant>

namespace vramguard {
namespace {

// A process under the library that shows nothing of itself may be about to.
constexpr std::chrono::milliseconds kFirstPatience{1000}, kLongestPatience{32'000};
constexpr int kChecksInARow = 2;

// What the name of the state file of that process begins with.
std::string state_prefix(const TreeProcess& process) {
  return std::to_string(process.pid) + "-" + std::to_string(process.start_ticks) + "-";
}

}  // namespace

void GpuWatch::look(const std::vector<TreeProcess>& processes, Time now) {
  const std::vector<pid_t> shown = read_states(processes);
  for (const TreeProcess& process : processes) {
    if (process.state == 'Z' || process.state == 'X') continue;
    judge(process, std::find(shown.begin(), shown.end(), process.pid) != shown.end(), now);
  }
}

std::vector<pid_t> GpuWatch::read_states(const std::vector<TreeProcess>& processes) {
  std::vector<pid_t> shown;
  std::map<std::string, Bytes> used;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder_.c_str()), closedir);
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (!name.ends_with(kStateSuffix)) continue;
    const auto process = std::find_if(processes.begin(), processes.end(), [&](const TreeProcess& candidate) {
      return name.starts_with(state_prefix(candidate));
    });
    if (process == processes.end()) continue;
    const auto read = read_process_state(folder_ + "/" + std::string(name), geteuid());
    const auto* seen = std::get_if<SeenProcess>(&read);
    if (seen == nullptr) continue;
    if (seen->alive) shown.push_back(process->pid);
    Counts& counts = counts_[std::string(name)];
    counts = {};
    for (std::uint32_t i = 0; i < seen->state.device_count; ++i) {
      const DeviceState& device = seen->state.devices[i];
      counts.refused += std::accumulate(std::begin(device.refused), std::end(device.refused), std::uint64_t{0});
      counts.recovered += device.recovered;
      const std::string uuid = state_text(device.uuid);
      Card& card = cards_[uuid];
      card.budget = device.budget_bytes == kStateUnknown ? kUnlimitedBytes : device.budget_bytes;
      card.peak = std::max({card.peak, Bytes{device.peak_bytes}, used[uuid] += device.used_bytes});
    }
  }
  return shown;
}

void GpuWatch::judge(const TreeProcess& process, bool has_state, Time now) {
  Known& known = known_[process.pid];
  if (known.start_ticks != process.start_ticks || known.start_stack != process.start_stack)
    known = {process.start_ticks, process.start_stack, kFirstPatience};
  if (has_state) {
    known.loaded = true;
    known.without_state = 0;
  }
  if (known.accused || has_state || (known.loaded && now < known.next_check)) return;
  const auto traces = gpu_traces_of(process.pid);
  if (!traces) return;
  known.loaded = traces->guard;
  if (!known.loaded) {
    if (traces->driver || traces->device) accuse(process, known, "libvramguard.so is not loaded in it");
    return;
  }
  // A forked worker has its parent's mappings and uses nothing: here only NVML's word counts.
  const bool uses = traces->driver && computes(process.pid, now);
  known.without_state = uses ? known.without_state + 1 : 0;
  known.patience = uses ? kFirstPatience : std::min(2 * known.patience, kLongestPatience);
  known.next_check = now + known.patience;
  if (known.without_state >= kChecksInARow)
    accuse(process, known, "libvramguard.so is loaded in it and switched off, or cannot work");
}

// NVML's numbers may be those of another pid namespace; but this process has the driver loaded.
bool GpuWatch::computes(pid_t pid, Time now) {
  if (now >= view_until_) {
    view_ = nvml_.look();
    view_until_ = now + kFirstPatience / 2;
  }
  return std::any_of(view_.devices.begin(), view_.devices.end(), [&](const NvmlDevice& device) {
    return std::any_of(device.processes.begin(), device.processes.end(),
                       [&](const NvmlProcess& process) { return process.pid == pid; });
  });
}

void GpuWatch::accuse(const TreeProcess& process, Known& known, const char* why) {
  known.accused = true;
  unguarded_.push_back({process.pid, process.comm, why});
}

GpuWatch::Totals GpuWatch::totals() const {
  Totals totals;
  totals.any = !counts_.empty();
  for (const auto& [file, counts] : counts_) {
    totals.refused += counts.refused;
    totals.recovered += counts.recovered;
  }
  for (const auto& [uuid, card] : cards_) {
    if (card.peak < totals.peak) continue;
    totals.peak = card.peak;
    totals.budget = card.budget;
  }
  return totals;
}

}  // namespace vramguard
