// A new configuration for a guard that runs.
#include <utility>

#include "core/device_budget.h"
#include "core/guard.h"

namespace vramguard {

namespace {

// What is built into a guard, and needs a new process. "" if nothing of it was changed.
std::string fixed_changes(const GuardConfig& before, const GuardConfig& after) {
  std::string names;
  const auto compare = [&](bool same, const char* name) {
    if (!same) names += std::string(names.empty() ? "" : ", ") + name;
  };
  compare(before.mode == after.mode, "mode");
  compare(before.group == after.group, "group");
  compare(before.virtualize == after.virtualize, "virtualize");
  compare(before.managed == after.managed, "managed");
  compare(before.host_pinned == after.host_pinned, "host_pinned");
  compare(before.sentinel == after.sentinel && before.device_sentinels == after.device_sentinels, "sentinel");
  compare(before.leave_free == after.leave_free, "leave_free");
  compare(before.pressure.scope == after.pressure.scope && before.pressure.watch_card == after.pressure.watch_card,
          "pressure.scope and pressure.watch_card");
  compare(before.oom.checkpoint == after.oom.checkpoint &&
              before.oom.checkpoint_signal == after.oom.checkpoint_signal &&
              before.oom.checkpoint_timeout == after.oom.checkpoint_timeout,
          "oom.checkpoint and oom.checkpoint_timeout");
  compare(before.sentinel_required == after.sentinel_required, "sentinel_required");
  compare(before.max_sentinel == after.max_sentinel, "max_sentinel");
  compare(before.oom.spill_limit == after.oom.spill_limit, "oom.spill_limit");
  compare(before.log == after.log, "[log]");
  return names;
}

}  // namespace

std::string Guard::reconfigure(const GuardConfig& fresh) {
  if (!hooks_.configure(fresh.hooks)) return "no memory for the hooks; nothing was changed";
  runner_.enable(fresh.hooks_enabled);
  for (GuardedDevice& device : devices_) {
    const DeviceInfo& info = device.info;
    device.cap = capped(fresh, kUnlimitedBytes, info.total_bytes);
    const Bytes budget = resolve_budget(fresh, info.uuid, info.pci_bus_id, info.ordinal, info.total_bytes);
    if (budget != device.memory.budget()) set_budget(device, budget);
    device.memory.set_thresholds(fresh.pressure);
    device.card_pressure.set_boundaries(fresh.pressure, info.total_bytes);
    OomSettings& settings = device.oom.settings();
    if (!observes()) settings.policy = fresh.oom.policy;
    settings.defer = fresh.oom.defer_first_refusal;
    settings.deadline = fresh.oom.deadline;
    settings.wait_timeout = fresh.oom.wait_timeout;
  }
  const std::string fixed = fixed_changes(config_, fresh);
  return fixed.empty() ? "" : "applied, but for what needs a new start of the program: " + fixed;
}

}  // namespace vramguard
