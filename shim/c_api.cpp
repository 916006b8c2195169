#include "shim/c_api.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/device_budget.h"
#include "shim/process.h"

namespace vramguard {

namespace {

constexpr std::size_t kLongestName = 64;

static_assert(static_cast<int>(PressureLevel::None) == VRAMGUARD_LEVEL_NONE &&
              static_cast<int>(PressureLevel::Critical) == VRAMGUARD_LEVEL_CRITICAL);
static_assert(kUnlimitedBytes == VRAMGUARD_UNLIMITED);

// `body` with the device of that number: int body(Guard&, GuardedDevice&).
template <typename Body>
int with_device(int ordinal, Body&& body) noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  GuardedDevice* device = ours->device(ordinal);
  return device != nullptr ? body(*ours, *device) : VRAMGUARD_NO_DEVICE;
}

int device_count() noexcept {
  const Guard* ours = guard();
  return ours != nullptr ? ours->device_count() : VRAMGUARD_NOT_RUNNING;
}

int get_statistics(int ordinal, vramguard_statistics* out) noexcept {
  if (out == nullptr || out->size < sizeof out->size) return VRAMGUARD_INVALID;
  return with_device(ordinal, [&](Guard&, GuardedDevice& device) {
    const Statistics::Snapshot stats = device.memory.stats();
    vramguard_statistics all{};
    all.size = std::min(out->size, sizeof all);
    all.budget = device.memory.budget();
    all.used = stats.used;
    all.peak = stats.peak;
    all.sentinel = device.memory.sentinel();
    all.device_total = device.info.total_bytes;
    all.device_free = device.card_seen.load();
    all.allocations = stats.allocations;
    all.frees = stats.frees;
    all.refused = stats.refusals;
    all.recovered = device.oom.recovered();
    all.level = static_cast<int>(device.level.load());
    std::memcpy(out, &all, all.size);
    return VRAMGUARD_OK;
  });
}

int set_budget(int ordinal, std::uint64_t bytes) noexcept {
  if (bytes == 0) return VRAMGUARD_INVALID;
  return with_device(ordinal, [&](Guard& ours, GuardedDevice& device) {
    ours.set_budget(device, capped(ours.config(), bytes, device.info.total_bytes));
    return VRAMGUARD_OK;
  });
}

std::optional<OomPolicy> policy_of(std::string_view name) noexcept {
  for (const OomPolicy policy : {OomPolicy::Fail, OomPolicy::RetryAfterFree, OomPolicy::WaitAndRetry,
                                 OomPolicy::CheckpointAndFail, OomPolicy::Spill}) {
    if (name == to_string(policy)) return policy;
  }
  return std::nullopt;
}

int set_policy(const char* name) noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  const std::optional<OomPolicy> policy = name != nullptr ? policy_of(name) : std::nullopt;
  if (!policy) return VRAMGUARD_INVALID;
  if (ours->observes()) return VRAMGUARD_OK;  // nothing is refused, so there is nothing to do about it
  for (int i = 0; i < ours->device_count(); ++i) ours->device(i)->oom.settings().policy = *policy;
  return VRAMGUARD_OK;
}

vramguard_request request_of(const HookFacts& facts) noexcept {
  return {sizeof(vramguard_request),
          facts.device != nullptr ? facts.device->ordinal : 0,
          facts.requested,
          facts.missing,
          facts.budget.value_or(kUnlimitedBytes),
          facts.used,
          facts.attempt,
          static_cast<unsigned>(facts.deadline.count())};
}

int add_oom_hook(const char* name, int priority, std::uint64_t estimated_free, vramguard_oom_hook hook,
                 void* context) noexcept try {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  const std::size_t length = name != nullptr ? strnlen(name, kLongestName + 1) : 0;
  if (length == 0 || length > kLongestName || hook == nullptr) return VRAMGUARD_INVALID;
  HookConfig config;
  config.name.assign(name, length);
  config.on = HookEvent::Oom;
  config.priority = priority;
  config.estimated_free = estimated_free;
  const auto call = [=](const HookFacts& facts) -> Bytes {
    const vramguard_request request = request_of(facts);
    return hook(&request, context);
  };
  HookList::Hooks replaced;
  if (!ours->hooks().replace(std::move(config), call, replaced)) return VRAMGUARD_NO_MEMORY;
  ours->hook_runner().wait_for_end(replaced);
  return VRAMGUARD_OK;
} catch (...) {
  return VRAMGUARD_NO_MEMORY;
}

int remove_oom_hook(const char* name) noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  if (name == nullptr) return VRAMGUARD_INVALID;
  const HookList::Hooks removed = ours->hooks().remove(name);
  ours->hook_runner().wait_for_end(removed);
  return removed.empty() ? VRAMGUARD_NOT_FOUND : VRAMGUARD_OK;
}

int set_checkpoint(vramguard_checkpoint checkpoint, void* context) noexcept try {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  Checkpoint::Callback callback;
  if (checkpoint != nullptr) {
    callback = [=](const HookFacts& facts) {
      const vramguard_request request = request_of(facts);
      checkpoint(&request, context);
    };
  }
  ours->checkpoint().set_callback(std::move(callback));
  ours->checkpoint().wait_for_end();
  return VRAMGUARD_OK;
} catch (...) {
  return VRAMGUARD_NO_MEMORY;
}

// Tells listeners apart, each with its context.
std::uint64_t key_of(vramguard_pressure_listener listener, void* context) noexcept {
  return reinterpret_cast<std::uint64_t>(listener) * 0x9e3779b97f4a7c15ULL ^ reinterpret_cast<std::uint64_t>(context);
}

int add_pressure_listener(vramguard_pressure_listener listener, void* context) noexcept try {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  if (listener == nullptr) return VRAMGUARD_INVALID;
  const auto call = [=](const DeviceInfo& device, const PressureTransition& change) {
    const vramguard_pressure told{sizeof(vramguard_pressure),
                                  device.ordinal,
                                  static_cast<int>(change.from),
                                  static_cast<int>(change.to),
                                  change.budget,
                                  change.used,
                                  change.free};
    listener(&told, context);
  };
  return ours->add_pressure_listener(call, key_of(listener, context)) ? VRAMGUARD_OK : VRAMGUARD_NO_MEMORY;
} catch (...) {
  return VRAMGUARD_NO_MEMORY;
}

int remove_pressure_listener(vramguard_pressure_listener listener, void* context) noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  return ours->remove_pressure_listeners(key_of(listener, context)) ? VRAMGUARD_OK : VRAMGUARD_NOT_FOUND;
}

std::uint64_t release_reservation(int ordinal) noexcept {
  std::uint64_t released = 0;
  with_device(ordinal, [&](Guard&, GuardedDevice& device) {
    released = device.sentinel.let_go(device);
    return VRAMGUARD_OK;
  });
  return released;
}

int has_reservation(int ordinal) noexcept {
  return with_device(ordinal, [](Guard&, GuardedDevice& device) { return device.sentinel.held() > 0 ? 1 : 0; }) == 1;
}

}  // namespace

const vg_c_api& c_api() noexcept {
  static constinit const vg_c_api functions{device_count,        get_statistics,        set_budget,
                                            set_policy,          add_oom_hook,          remove_oom_hook,
                                            set_checkpoint,      add_pressure_listener, remove_pressure_listener,
                                            release_reservation, has_reservation};
  return functions;
}

}  // namespace vramguard
