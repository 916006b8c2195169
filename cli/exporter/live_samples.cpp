#include "cli/exporter/live_samples.h"

#include "cli/process_finder.h"
#include "core/pressure_level.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace vramguard {
namespace {

Labels joined(Labels first, const Labels& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

Labels labels_of(const LiveProcess& process, bool per_process) {
  if (!per_process) return process.workload;
  const std::string pid = std::to_string(process.pid.value_or(process.own_pid));
  return joined(process.workload, {{"pid", pid}, {"comm", process.comm}, {"user", user_name(process.owner)}});
}

void add_level(int worst, const Labels& labels, Samples& samples) {
  for (int level = 0; level < static_cast<int>(kStateLevels); ++level) {
    const std::string name(to_string(static_cast<PressureLevel>(level)));
    samples.add(Metric::PressureLevel, joined(labels, {{"level", name}}), level == worst);
  }
}

}  // namespace

void add_live(const std::vector<LiveProcess>& live, const CardNames& cards, bool per_process, Samples& samples) {
  std::map<Labels, int> levels;
  std::set<std::tuple<std::string, std::string, std::string>> groups;  // by folder, name and card: counted already
  samples.add(Metric::GuardedProcesses, {}, 0);
  for (const LiveProcess& process : live) {
    samples.add(Metric::GuardedProcesses, process.workload, 1);
    for (const LiveDevice& device : process.devices) {
      const Labels labels = joined(cards.labels(device.uuid), labels_of(process, per_process));
      samples.add(Metric::Used, labels, static_cast<double>(device.used_bytes));
      samples.add(Metric::UsedPeak, labels, static_cast<double>(device.peak_bytes));
      samples.add(Metric::Sentinel, labels, static_cast<double>(device.sentinel_bytes));
      const bool counts = process.group.empty() || groups.emplace(process.folder, process.group, device.uuid).second;
      if (counts && device.budget_bytes != kStateUnknown)
        samples.add(Metric::Budget, labels, static_cast<double>(device.budget_bytes));
      int& worst = levels.try_emplace(labels, 0).first->second;
      worst = std::max(worst, device.level);
    }
  }
  for (const auto& [labels, worst] : levels) add_level(worst, labels, samples);
}

void add_free(const std::vector<LiveProcess>& live, const NvmlView& nvml, const CardNames& cards, Samples& samples) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> free;  // when it was written, and the bytes
  for (const LiveProcess& process : live) {
    for (const LiveDevice& device : process.devices) {
      const std::pair seen{process.updated_at_ms, device.device_free_bytes};
      if (device.device_free_bytes == kStateUnknown) continue;
      const auto [at, is_first] = free.try_emplace(device.uuid, seen);
      if (!is_first && at->second.first < seen.first) at->second = seen;
    }
  }
  for (const NvmlDevice& device : nvml.devices) {
    if (device.free_bytes != kStateUnknown) free[device.uuid] = {UINT64_MAX, device.free_bytes};
  }
  for (const auto& [uuid, seen] : free)
    samples.add(Metric::DeviceFree, cards.labels(uuid), static_cast<double>(seen.second));
}

void add_unguarded(const std::vector<LiveProcess>& live, const NvmlView& nvml, const CardNames& cards,
                   Samples& samples) {
  ProcessIndex index;
  std::optional<std::set<pid_t>> guarded;  // looked for when they are first needed
  const auto is_guarded = [&](pid_t pid) {
    if (!guarded) {
      guarded.emplace();
      for (const LiveProcess& process : live) {
        const auto here = process.pid ? process.pid : index.pid_of(process.own_pid, process.start_ticks, process.owner);
        if (here) guarded->insert(*here);
      }
    }
    return guarded->contains(pid);
  };
  for (const NvmlDevice& device : nvml.devices) {
    int unguarded = 0, unknown = 0;
    for (const NvmlProcess& process : device.processes) {
      const Mapped mapped = what_is_mapped(process.pid);
      if (mapped == Mapped::Library || is_guarded(process.pid)) continue;
      ++(mapped == Mapped::Cuda ? unguarded : unknown);
    }
    samples.add(Metric::UnguardedProcesses, cards.labels(device.uuid), unguarded);
    samples.add(Metric::UnknownProcesses, cards.labels(device.uuid), unknown);
  }
}

void add_counts(const Counters& counters, const CardNames& cards, Samples& samples) {
  for (const auto& [text, value] : counters) {
    const std::optional<Series> series = parse_series(text);
    const std::optional<CounterMetric> counter = series ? counter_named(series->name) : std::nullopt;
    if (!counter) continue;
    Labels labels;
    for (const auto& [name, label] : series->labels) {
      if (name == "gpu_uuid") {
        labels = joined(cards.labels(label), labels);
      } else if (is_label_of_counters(name)) {
        labels.emplace_back(name, label);
      }
    }
    samples.add(counter->metric, labels, static_cast<double>(value) * counter->scale);
  }
}

}  // namespace vramguard
