#include "cli/hook_facts_example.h"

#include "config/choice.h"

#include "core/device_budget.h"
#include "core/pressure.h"

#include <algorithm>

namespace vramguard {

DeviceInfo example_device() { return {0, "GPU-00000000-0000-0000-0000-000000000000", "0000:00:00.0", 24_GiB}; }

HookFacts example_facts(const GuardConfig& config, const HookConfig& hook, PressureLevel level,
                        const DeviceInfo& device) {
  const Bytes limit = std::min(bytes_of(config.budget, device.total_bytes), device.total_bytes);
  HookFacts facts;
  facts.event = hook.on;
  facts.device = &device;
  facts.level = level;
  facts.scope = word_of(config.pressure.scope, kScopeWords).data();
  if (config.budget != Size{Unlimited{}}) facts.budget = limit;
  if (level != PressureLevel::None) facts.free = compile(config.pressure, limit).threshold(level);
  facts.used = limit - std::min(limit, facts.free);
  facts.card_free = device.total_bytes - facts.used;
  if (hook.on == HookEvent::Oom || hook.on == HookEvent::OomReturned) {
    facts.requested = facts.free + 512_MiB;
    facts.missing = 512_MiB;
    facts.attempt = 1;
    facts.deadline = config.oom.deadline;
  }
  return facts;
}

}  // namespace vramguard
