// Gathers everything that vramguard-exporter shows.
#pragma once

#include <prometheus/collectable.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cli/exporter/card_names.h"
#include "cli/exporter/folder_reading.h"
#include "cli/nvml_view.h"

namespace vramguard {

struct CollectorOptions {
  std::vector<std::string> state_dirs;  // none: the folders of all users that can be told from the file system
  bool per_process = false;
  bool nvml = true;
};

// Thread-safe: one scrape after another.
class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(CollectorOptions options) : options_(std::move(options)) {}

  // Also adds the counts of processes that have ended to the sums of their folder, and removes their files, where this
  // user may.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Folders;
  std::vector<prometheus::MetricFamily> gather() const;
  void read_folders(Folders& all) const;

  const CollectorOptions options_;
  mutable std::mutex mutex_;
  mutable NvmlObserver nvml_;
  mutable CardNames cards_;
  mutable std::map<std::string, Counters> last_exact_;  // by folder: shown while it cannot be read exactly
};

// The text that Prometheus reads.
std::string exposition(const Collector& collector);

}  // namespace vramguard
