#include "cli/exporter/folder_reading.h"

#include "core/state/process_state_file.h"
#include "core/state/totals_file.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace vramguard {
namespace {

constexpr int kTries = 3;

std::uint64_t added(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

std::string name_of(const std::string& path) {
  const std::size_t start = path.rfind('/') + 1;
  return path.substr(start, path.size() - start - (sizeof kStateSuffix - 1));
}

LiveProcess kept_of(const SeenProcess& seen, const std::string& folder) {
  const ProcessState& state = seen.state;
  LiveProcess kept{workload_labels(state),
                   folder,
                   state_text(state.group),
                   state_text(state.comm),
                   seen.owner,
                   seen.pid,
                   state.pid,
                   state.start_ticks,
                   state.started_at_ms,
                   state.updated_at_ms,
                   {}};
  for (std::uint32_t i = 0; i < state.device_count; ++i) {
    const DeviceState& device = state.devices[i];
    kept.devices.push_back({state_text(device.uuid), device.level, device.budget_bytes, device.device_free_bytes,
                            device.used_bytes, device.peak_bytes, device.sentinel_bytes});
  }
  return kept;
}

// The counts of files, which can be taken back by name.
class FileCounts {
 public:
  explicit FileCounts(Counters& sums) : sums_(sums) {}

  void add(const std::string& name, const ProcessState& state) {
    Counters counts;
    add_counters(state, counts);
    Added& mine = added_[name];
    for (const auto& [series, value] : counts) {
      const auto sum = sums_.try_emplace(series, 0).first;
      const std::uint64_t before = std::exchange(sum->second, added(sum->second, value));
      if (sum->second != before) mine.emplace_back(sum, sum->second - before);
    }
  }
  void take_back(const std::string& name) {
    const auto found = added_.find(name);
    if (found == added_.end()) return;
    for (const auto& [sum, value] : found->second) sum->second -= value;
    added_.erase(found);
  }

 private:
  using Added = std::vector<std::pair<Counters::iterator, std::uint64_t>>;
  Counters& sums_;
  std::map<std::string, Added> added_;
};

void read_files(const StateFolder& folder, const std::vector<std::string>& paths, const std::set<std::string>& folded,
                FileCounts& counts, FolderReading& reading) {
  for (const std::string& path : paths) {
    if (folded.contains(name_of(path))) continue;  // its file was not removed yet
    auto read = read_process_state(path, folder.owner);
    if (const auto* seen = std::get_if<SeenProcess>(&read)) {
      counts.add(name_of(path), seen->state);
      if (seen->alive) {
        reading.live.push_back(kept_of(*seen, folder.path));
      } else {
        ++reading.stale;
      }
    } else if (access(path.c_str(), F_OK) == 0) {
      reading.unreadable.push_back(std::move(std::get<UnreadableState>(read)));
    }
  }
}

// The sums are read before the files and after them. Whoever was folded in between was seen as a file, or his file was
// gone already; either way he is in the later sums, which tell his name.
FolderReading read_once(const StateFolder& folder, void (*between)()) {
  FolderReading reading;
  const Totals before = read_totals_file(folder.path, folder.owner);
  auto paths = state_paths(folder.path);
  if (auto* why = std::get_if<UnreadableState>(&paths)) {
    reading.unreadable.push_back(std::move(*why));
    return reading;
  }
  FileCounts counts(reading.counters);
  read_files(folder, std::get<std::vector<std::string>>(paths), {before.folded.begin(), before.folded.end()}, counts,
             reading);
  between();
  const Totals after = read_totals_file(folder.path, folder.owner);
  if (after.of_another_version)
    reading.unreadable.push_back({folder.path + "/" + kTotalsFile, "was written by another version of vramguard"});
  for (const std::string& name : after.folded) counts.take_back(name);
  for (const auto& [series, value] : after.sums) reading.counters[series] = added(reading.counters[series], value);
  reading.exact = after.folds >= before.folds && after.folds - before.folds <= Totals::kLastFolded;
  return reading;
}

}  // namespace

FolderReading read_folder(const StateFolder& folder, void (*between)()) {
  FolderReading reading;
  for (int i = 0; i < kTries && !reading.exact; ++i) reading = read_once(folder, between);
  return reading;
}

}  // namespace vramguard
