#include "cli/exporter/metrics.h"

#include <algorithm>

namespace vramguard {

const std::array<MetricInfo, kMetrics> kMetricInfos{{
    {"vramguard_budget_bytes", MetricKind::Gauge,
     "Device memory that guarded processes may take; those without a budget are left out."},
    {"vramguard_used_bytes", MetricKind::Gauge, "Device memory that guarded processes take."},
    {"vramguard_used_peak_bytes", MetricKind::Gauge, "The most that guarded processes have taken, each for itself."},
    {"vramguard_sentinel_bytes", MetricKind::Gauge, "Device memory held so that neighbours cannot take it."},
    {"vramguard_device_free_bytes", MetricKind::Gauge, "Memory that is free on the card."},
    {"vramguard_pressure_level", MetricKind::Gauge, "1 for the worst level of guarded processes, 0 for the others."},
    {"vramguard_pressure_transitions_total", MetricKind::Counter, "Changes of the pressure level, by the new one."},
    {"vramguard_requests_refused_total", MetricKind::Counter, "Requests that did not fit, by what was short."},
    {"vramguard_ooms_recovered_total", MetricKind::Counter, "Requests that did not fit and were served after all."},
    {"vramguard_ooms_returned_total", MetricKind::Counter, "Requests that the program was told do not fit."},
    {"vramguard_oom_wait_seconds_total", MetricKind::Counter, "Time that requests that did not fit have waited."},
    {"vramguard_hook_runs_total", MetricKind::Counter, "Hooks that were started."},
    {"vramguard_hook_failures_total", MetricKind::Counter, "Hooks that failed, by how."},
    {"vramguard_hook_skips_total", MetricKind::Counter, "Hooks whose time had come and that did not run, by why."},
    {"vramguard_log_dropped_total", MetricKind::Counter, "Records that are not in the pressure log, by why."},
    {"vramguard_guarded_processes", MetricKind::Gauge, "Processes under vramguard."},
    {"vramguard_unguarded_processes", MetricKind::Gauge, "Processes on the card that are not under vramguard."},
    {"vramguard_unknown_processes", MetricKind::Gauge,
     "Processes on the card of which it cannot be told whether they are under vramguard."},
    {"vramguard_exporter_build_info", MetricKind::Gauge, "1, with the exporter's version."},
    {"vramguard_exporter_nvml_up", MetricKind::Gauge, "Whether NVML answered in time."},
    {"vramguard_exporter_unreadable_files", MetricKind::Gauge, "State files and folders that could not be read."},
    {"vramguard_exporter_stale_files", MetricKind::Gauge,
     "State files of processes that have ended; they are counted, and whoever may will remove them."},
    {"vramguard_exporter_scrape_duration_seconds", MetricKind::Gauge, "How long it took to gather all this."},
}};

std::optional<CounterMetric> counter_named(std::string_view name) {
  if (name == "vramguard_oom_wait_milliseconds_total") return CounterMetric{Metric::OomWait, 1e-3};
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    if (kMetricInfos[i].kind == MetricKind::Counter && metric != Metric::OomWait && name == kMetricInfos[i].name)
      return CounterMetric{metric, 1};
  }
  return std::nullopt;
}

bool is_label_of_counters(std::string_view name) {
  constexpr std::array<std::string_view, 10> kKnown{"gpu_uuid", "scope",     "to",  "hook",      "cause",
                                                    "reason",   "namespace", "pod", "container", "slurm_job"};
  return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
}

}  // namespace vramguard
