// What a hook is told.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device_info.h"
#include "core/guard_config.h"

namespace vramguard {

// Of one moment. `device` outlives it.
struct HookFacts {
  HookEvent event = HookEvent::Pressure;
  std::uint64_t seq = 1;  // the run's number among those of all hooks of the process
  const DeviceInfo* device = nullptr;
  PressureLevel level = PressureLevel::None;
  PressureLevel previous = PressureLevel::None;
  const char* scope = "budget";
  std::optional<Bytes> budget;  // empty: none
  Bytes used = 0;
  Bytes free = 0;  // of the scope
  std::optional<Bytes> card_free;
  Bytes requested = 0;  // of the request that does not fit, as the next two
  Bytes missing = 0;
  unsigned attempt = 0;
  std::chrono::milliseconds deadline{0};  // how long the request can still wait
};

const char* to_string(HookEvent event) noexcept;

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// The variables VRAMGUARD_HOOK_*, as docs/hooks.md lists them: always all, empty where one does not apply or nobody
// knows. Throws std::bad_alloc.
NamedValues hook_variables(const HookFacts& facts, const std::string& hook, std::uint64_t run,
                           const std::string& log_path);

}  // namespace vramguard
