#include "core/state/counters.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/hook_gate.h"
#include "core/hook_runner.h"
#include "core/pressure_level.h"
#include "core/refusal.h"
#include "core/state/process_state_file.h"
#include "core/state/series.h"
#include "core/state/totals_file.h"

namespace vramguard {
namespace {

static_assert(static_cast<std::uint32_t>(PressureLevel::Critical) + 1 == kStateLevels);
static_assert(static_cast<std::uint32_t>(RefusalScope::Device) + 1 == kStateScopes);
static_assert(static_cast<std::uint32_t>(HookOutcome::NotSent) + 1 == kStateOutcomes);
static_assert(static_cast<std::uint32_t>(HookSkip::Running) + 1 == kStateSkips);

// Adds to series that all have some labels in common.
class Sums {
 public:
  Sums(Counters& counters, Labels own, Labels workload)
      : counters_(counters), own_(std::move(own)), workload_(std::move(workload)) {}

  void add(const char* name, std::uint64_t value, Labels labels = {}) {
    labels.insert(labels.begin(), own_.begin(), own_.end());
    labels.insert(labels.end(), workload_.begin(), workload_.end());
    std::uint64_t& sum = counters_[series_text(name, labels)];
    sum = added(sum, value);
  }

 private:
  Counters& counters_;
  const Labels own_, workload_;
};

void add_device(const DeviceState& device, const Labels& workload, Counters& counters) {
  Sums sums(counters, {{"gpu_uuid", state_text(device.uuid)}}, workload);
  for (std::uint32_t i = 0; i < kStateLevels; ++i) {
    const std::string level(to_string(static_cast<PressureLevel>(i)));
    sums.add("vramguard_pressure_transitions_total", device.transitions[i], {{"to", level}});
  }
  for (std::uint32_t i = 0; i < kStateScopes; ++i) {
    const Labels scope{{"scope", to_string(static_cast<RefusalScope>(i))}};
    sums.add("vramguard_requests_refused_total", device.refused[i], scope);
    sums.add("vramguard_ooms_returned_total", device.returned[i], scope);
  }
  sums.add("vramguard_ooms_recovered_total", device.recovered);
  sums.add("vramguard_oom_wait_milliseconds_total", device.waited_ms);
}

bool is_failure(HookOutcome outcome) {
  switch (outcome) {
    case HookOutcome::Ok:
    case HookOutcome::Background:
    case HookOutcome::Sent:
      return false;
    case HookOutcome::Failed:
    case HookOutcome::Signaled:
    case HookOutcome::TimedOut:
    case HookOutcome::CannotStart:
    case HookOutcome::NotSent:
      return true;
  }
  return true;
}

void add_hook(const HookState& hook, const Labels& workload, Counters& counters) {
  Sums sums(counters, {{"hook", state_text(hook.name)}}, workload);
  sums.add("vramguard_hook_runs_total", hook.runs);
  for (std::uint32_t i = 0; i < kStateOutcomes; ++i) {
    const auto outcome = static_cast<HookOutcome>(i);
    if (is_failure(outcome))
      sums.add("vramguard_hook_failures_total", hook.outcomes[i], {{"cause", to_string(outcome)}});
  }
  for (std::uint32_t i = 0; i < kStateSkips; ++i)
    sums.add("vramguard_hook_skips_total", hook.skips[i], {{"reason", to_string(static_cast<HookSkip>(i))}});
}

}  // namespace

Labels workload_labels(const ProcessState& state) {
  const auto label = [](const char* name, std::string value) { return Labels{{name, std::move(value)}}; };
  if (state.pod[0] != '\0') return {{"namespace", state_text(state.namespace_)}, {"pod", state_text(state.pod)}};
  if (state.slurm_job[0] != '\0') return label("slurm_job", state_text(state.slurm_job));
  if (state.container[0] != '\0') return label("container", state_text(state.container));
  return {};
}

void add_counters(const ProcessState& state, Counters& sums) {
  const Labels workload = workload_labels(state);
  for (std::uint32_t i = 0; i < std::min(state.device_count, kStateDevices); ++i)
    add_device(state.devices[i], workload, sums);
  for (std::uint32_t i = 0; i < std::min(state.hook_count, kStateHooks); ++i) add_hook(state.hooks[i], workload, sums);
  Sums log(sums, {}, workload);
  log.add("vramguard_log_dropped_total", state.log_dropped, {{"cause", "lost"}});
  log.add("vramguard_log_dropped_total", state.log_suppressed, {{"cause", "rate_limit"}});
}

Counters read_totals(const std::string& folder) {
  struct stat info {};
  Counters sums;
  if (lstat(folder.c_str(), &info) != 0) return sums;
  for (const auto& [series, value] : read_totals_file(folder, info.st_uid).sums)
    sums[series] = added(sums[series], value);
  return sums;
}

}  // namespace vramguard
