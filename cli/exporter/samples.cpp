#include "cli/exporter/samples.h"

#include "core/state/state_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace vramguard {
namespace {

Labels shown(const Labels& labels) {
  Labels out;
  for (const auto& [name, value] : labels) {
    if (!value.empty()) out.emplace_back(name, printable(value));
  }
  return out;
}

prometheus::ClientMetric sample_of(const Labels& labels, double value, MetricKind kind) {
  prometheus::ClientMetric sample;
  for (const auto& [name, text] : labels) sample.label.push_back({name, text});
  (kind == MetricKind::Gauge ? sample.gauge.value : sample.counter.value) = value;
  return sample;
}

}  // namespace

void Samples::add(Metric metric, const Labels& labels, double value) {
  values_[static_cast<std::size_t>(metric)][shown(labels)] += value;
}

void Samples::raise(Metric metric, const Labels& labels, double value) {
  double& mine = values_[static_cast<std::size_t>(metric)]
                     .try_emplace(shown(labels), -std::numeric_limits<double>::infinity())
                     .first->second;
  mine = std::max(mine, value);
}

std::vector<prometheus::MetricFamily> Samples::families() const {
  std::vector<prometheus::MetricFamily> families;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const MetricInfo& info = kMetricInfos[i];
    if (values_[i].empty()) continue;
    prometheus::MetricFamily family{
        info.name,
        info.help,
        info.kind == MetricKind::Gauge ? prometheus::MetricType::Gauge : prometheus::MetricType::Counter,
        {}};
    for (const auto& [labels, value] : values_[i]) family.metric.push_back(sample_of(labels, value, info.kind));
    families.push_back(std::move(family));
  }
  return families;
}

}  // namespace vramguard
