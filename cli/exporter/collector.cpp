#include "cli/exporter/collector.h"

#include "cli/exporter/live_samples.h"
#include "cli/exporter/samples.h"
#include "core/state/state_folder.h"

#include <prometheus/text_serializer.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <iterator>
#include <sstream>
#include <utility>

namespace vramguard {
namespace {

struct NamedFolders {
  std::vector<StateFolder> folders;
  std::size_t unreadable = 0;
};

NamedFolders folders_of(const std::vector<std::string>& named) {
  if (named.empty()) {
    const char* variable = std::getenv("VRAMGUARD_STATE_DIR");
    return {all_state_folders(variable != nullptr ? variable : ""), 0};
  }
  NamedFolders found;
  for (const std::string& path : named) {
    std::vector<StateFolder> all = all_state_folders(path);
    if (!all.empty() && all.front().path == path) {
      found.folders.push_back(std::move(all.front()));
    } else {
      ++found.unreadable;
    }
  }
  return found;
}

}  // namespace

struct Collector::Folders {
  std::vector<LiveProcess> live;
  std::vector<Counters> counters;
  std::size_t unreadable = 0, stale = 0;
};

void Collector::read_folders(Folders& all) const {
  const NamedFolders named = folders_of(options_.state_dirs);
  all.unreadable = named.unreadable;
  for (const StateFolder& folder : named.folders) {
    fold_stale(folder);
    FolderReading reading = read_folder(folder);
    std::move(reading.live.begin(), reading.live.end(), std::back_inserter(all.live));
    all.unreadable += reading.unreadable.size();
    all.stale += reading.stale;
    Counters& shown = last_exact_[folder.path];
    if (reading.exact || shown.empty()) shown = std::move(reading.counters);
    all.counters.push_back(shown);
  }
}

// The server's threads have 100 KiB of stack, of which one state file takes half.
std::vector<prometheus::MetricFamily> Collector::Collect() const {
  const std::lock_guard lock(mutex_);
  return std::async(std::launch::async, [this] { return gather(); }).get();
}

std::vector<prometheus::MetricFamily> Collector::gather() const {
  const auto start = std::chrono::steady_clock::now();
  const NvmlView nvml = options_.nvml ? nvml_.look() : NvmlView{};
  cards_.learn(nvml);
  Folders folders;
  read_folders(folders);

  Samples samples;
  add_live(folders.live, cards_, options_.per_process, samples);
  add_free(folders.live, nvml, cards_, samples);
  add_unguarded(folders.live, nvml, cards_, samples);
  for (const Counters& counters : folders.counters) add_counts(counters, cards_, samples);
  samples.add(Metric::BuildInfo, {{"version", VRAMGUARD_VERSION}}, 1);
  samples.add(Metric::NvmlUp, {}, nvml.answer == NvmlAnswer::Told);
  samples.add(Metric::UnreadableFiles, {}, static_cast<double>(folders.unreadable));
  samples.add(Metric::StaleFiles, {}, static_cast<double>(folders.stale));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  samples.add(Metric::ScrapeDuration, {}, took.count());
  return samples.families();
}

std::string exposition(const Collector& collector) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, collector.Collect());
  return text.str();
}

}  // namespace vramguard
