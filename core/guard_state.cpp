// What others see of this process, and what they ask of it.
#include <algorithm>
#include <atomic>
#include <utility>

#include "core/guard.h"
#include "core/pressure_scope.h"
#include "core/undisturbed.h"

namespace vramguard {

namespace {

static_assert(kStateUnknown == kUnlimitedBytes);
static_assert(kStateScopes == kRefusalScopes && kStateOutcomes == kHookOutcomes && kStateSkips == kHookSkips);
static_assert(kStateLevels == static_cast<std::size_t>(PressureLevel::Critical) + 1);

// How old what others see can be.
constexpr auto kBetweenPublications = std::chrono::milliseconds(250);
// How long the start waits for the thread that stands for the process.
constexpr auto kPatience = std::chrono::seconds(5);

template <typename Field, typename Value>
void put(Field& field, Value value) noexcept {
  std::atomic_ref<Field>(field).store(static_cast<Field>(value), std::memory_order_relaxed);
}

template <typename Counts, std::size_t N>
void put_all(std::uint64_t (&fields)[N], const Counts& counts) noexcept {
  for (std::size_t i = 0; i < N; ++i) put(fields[i], counts[i].load(std::memory_order_relaxed));
}

void identify(DeviceState& seen, const DeviceInfo& info) noexcept {
  set_state_text(seen.uuid, info.uuid);
  set_state_text(seen.pci_bus_id, info.pci_bus_id);
  set_state_text(seen.name, info.name);
  put(seen.ordinal, info.ordinal);
  put(seen.total_bytes, info.total_bytes);
}

void show(DeviceState& seen, GuardedDevice& device) noexcept {
  const Statistics::Snapshot stats = device.memory.stats();
  put(seen.level, device.level.load());
  put(seen.budget_bytes, device.memory.budget());
  put(seen.used_bytes, stats.used);
  put(seen.peak_bytes, stats.peak);
  put(seen.sentinel_bytes, device.memory.sentinel());
  put(seen.device_free_bytes, device.card_seen.load());
  put(seen.group_used_bytes, device.memory.used_by_group());
  put(seen.allocations, stats.allocations);
  put(seen.frees, stats.frees);
  const OomCounts& ooms = device.oom.counts();
  put_all(seen.refused, ooms.refused);
  put_all(seen.returned, ooms.returned);
  put(seen.recovered, ooms.recovered.load());
  put(seen.waited_ms, ooms.waited_ms.load());
  put_all(seen.transitions, device.transitions);
}

}  // namespace

std::optional<std::string> Guard::join() noexcept try {
  const bool grouped = !config_.group.empty();
  std::optional<StateProblem> problem = presence_.prepare(config_.state_dir, config_.group);
  if (!problem) {
    ProcessState& seen = *presence_.state();
    set_state_text(seen.log_path, log_.path());
    set_state_text(seen.mode, observes() ? "observe" : "enforce");
    set_state_text(seen.scope, to_string(config_.pressure.scope));
    const std::size_t shown = std::min<std::size_t>(devices_.size(), kStateDevices);
    for (std::size_t i = 0; i < shown; ++i) identify(seen.devices[i], devices_[i].info);
    put(seen.device_count, shown);
    thread_.sleep_on(presence_.control()->wake);
    log_.show_to([](std::uint64_t number, std::string_view line,
                    void* self) noexcept { static_cast<Guard*>(self)->show_record(number, line); },
                 this);
    publish_state();
  }
  watches_ = watchdog_.start();
  if (!problem) problem = watches_ ? presence_.wait_begun(kPatience) : StateProblem{"the system gives no thread"};
  for (GuardedDevice& device : devices_) {
    if (problem || !grouped) break;
    const GroupShare* share = presence_.share(device.info);
    if (share == nullptr) {
      problem = StateProblem{"the group has too many devices"};
    } else {
      device.memory.share_with(*share);
      if (const Bytes budget = share->budget_of_group(); budget != 0) {
        device.memory.set_budget(std::min(budget, device.cap.load()));
      }
    }
  }
  if (!problem) return std::nullopt;
  presence_.withdraw();
  if (grouped) return problem->message;
  guard_failed("state", problem->message);
  return std::nullopt;
} catch (...) {
  return "no memory";
}

void Guard::withdraw() noexcept {
  presence_.withdraw();
  watchdog_.end();
}

void Guard::show_record(std::uint64_t number, std::string_view line) noexcept {
  ProcessState& seen = *presence_.state();
  RecordState& record = seen.records[(number - 1) % kStateRecords];
  put(record.number, 0);
  set_state_text(record.text, line.substr(0, line.find('\n')));
  put(record.number_again, number);
  put(record.number, number);
  put(seen.last_record, number);
}

MonotonicTime Guard::publish_state() noexcept {
  ProcessState* seen = presence_.state();
  if (seen == nullptr) return MonotonicTime::max();
  set_state_text(seen->policy,
                 to_string(devices_.empty() ? config_.oom.policy : devices_.front().oom.settings().policy.load()));
  put(seen->log_dropped, log_.dropped());
  put(seen->log_suppressed, log_.suppressed());
  std::size_t place = 0;
  for (GuardedDevice& device : devices_) {
    if (place < kStateDevices) show(seen->devices[place++], device);
  }
  publish_hooks(*seen);
  const auto since_1970 = clock_.wall().time_since_epoch();
  put(seen->updated_at_ms, std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count());
  return clock_.now() + kBetweenPublications;
}

// Hooks are listed in the order in which they came; one that was removed keeps its place and its counts.
void Guard::publish_hooks(ProcessState& seen) noexcept {
  std::uint32_t count = seen.hook_count;
  hooks_.for_each([&](const Hook& hook) {
    const auto has_its_name = [&](const HookState& place) { return hook.config.name == state_text(place.name); };
    HookState* place = std::find_if(seen.hooks, seen.hooks + count, has_its_name);
    if (place == seen.hooks + kStateHooks) return;
    if (place == seen.hooks + count) set_state_text(seen.hooks[count++].name, hook.config.name);
    put(place->runs, hook.gate.runs());
    put_all(place->outcomes, hook.tally.outcomes);
    put_all(place->skips, hook.tally.skips);
  });
  put(seen.hook_count, count);
}

void Guard::answer_control() noexcept {
  ControlBlock* control = presence_.control();
  if (control == nullptr) return;
  const std::uint32_t asked = std::atomic_ref(control->asked).load();
  if (asked == std::atomic_ref(control->answered).load()) return;
  // Taken: from now on it is too late to withdraw it.
  const std::uint32_t what = std::atomic_ref(control->what).exchange(0);
  const std::string problem = do_as_asked(what, *control);
  set_state_text(control->answer, problem);
  put(control->done, problem.empty() ? 1 : 0);
  publish_state();
  std::atomic_ref(control->answered).store(asked);
  futex_wake_all(control->answered, FutexScope::Shared);
}

// "" or what was not done.
std::string Guard::do_as_asked(std::uint32_t what, const ControlBlock& control) noexcept try {
  std::string problem;
  if ((what & kAskReload) != 0) problem = reload_ != nullptr ? reload_(*this) : "this program reads no configuration";
  if ((what & kAskPolicy) != 0) {
    const std::optional<OomPolicy> policy = oom_policy_named(state_text(control.policy));
    if (!policy) return "there is no such policy";
    if (observes()) return "it is only observed: nothing is refused, so there is no policy";
    for (GuardedDevice& device : devices_) device.oom.settings().policy = *policy;
  }
  if ((what & kAskBudget) != 0) {
    const std::string uuid = state_text(control.device);
    bool any = false;
    for (GuardedDevice& device : devices_) {
      if (!uuid.empty() && device.info.uuid != uuid) continue;
      any = true;
      const Bytes budget = set_budget(device, control.budget_bytes);
      if (budget < std::min(control.budget_bytes, device.info.total_bytes))
        problem = "the administrator allows no more than " + format_bytes(budget);
    }
    if (!any) return "it does not see that device";
  }
  return problem;
} catch (...) {
  return "no memory";
}

}  // namespace vramguard
