// The values of one scrape, by metric and labels.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <map>
#include <vector>

#include "cli/exporter/metrics.h"
#include "core/state/series.h"

namespace vramguard {

// For one thread.
class Samples {
 public:
  // Values with the same labels are added up. Labels without a value are left out.
  void add(Metric metric, const Labels& labels, double value);
  void raise(Metric metric, const Labels& labels, double value);  // to the greater of the two

  // One for each metric that has values.
  std::vector<prometheus::MetricFamily> families() const;

 private:
  std::array<std::map<Labels, double>, kMetrics> values_;
};

}  // namespace vramguard
