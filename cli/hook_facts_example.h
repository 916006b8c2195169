// Made-up facts for trying out a hook: those of a card on which what the hook waits for happens.
#pragma once

#include "core/device_info.h"
#include "core/guard_config.h"
#include "core/hook_facts.h"

namespace vramguard {

// A card that nobody has.
DeviceInfo example_device();

// `device` must outlive the facts.
HookFacts example_facts(const GuardConfig& config, const HookConfig& hook, PressureLevel level,
                        const DeviceInfo& device);

}  // namespace vramguard
