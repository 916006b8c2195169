// The metrics of vramguard-exporter: their names, types and what is said of them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace vramguard {

enum class MetricKind { Gauge, Counter };

// In the order in which they are shown.
enum class Metric : std::size_t {
  Budget,
  Used,
  UsedPeak,
  Sentinel,
  DeviceFree,
  PressureLevel,
  PressureTransitions,
  RequestsRefused,
  OomsRecovered,
  OomsReturned,
  OomWait,
  HookRuns,
  HookFailures,
  HookSkips,
  LogDropped,
  GuardedProcesses,
  UnguardedProcesses,
  UnknownProcesses,
  BuildInfo,
  NvmlUp,
  UnreadableFiles,
  StaleFiles,
  ScrapeDuration,
};

struct MetricInfo {
  const char* name;
  MetricKind kind;
  const char* help;
};

inline constexpr std::size_t kMetrics = static_cast<std::size_t>(Metric::ScrapeDuration) + 1;
extern const std::array<MetricInfo, kMetrics> kMetricInfos;

inline const MetricInfo& info_of(Metric metric) { return kMetricInfos[static_cast<std::size_t>(metric)]; }

// What a folder's counts are shown as; nullopt for a name that means nothing. Another user may have written it.
struct CounterMetric {
  Metric metric;
  double scale;  // what one count is
};
std::optional<CounterMetric> counter_named(std::string_view name);
// Whether a counter of a folder may carry this label.
bool is_label_of_counters(std::string_view name);

}  // namespace vramguard
