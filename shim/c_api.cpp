#include "shim/c_api.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "shim/c_callbacks.h"
#include "shim/driver.h"
#include "shim/process.h"

namespace vramguard {

namespace {

static_assert(static_cast<int>(PressureLevel::None) == VRAMGUARD_LEVEL_NONE &&
              static_cast<int>(PressureLevel::Critical) == VRAMGUARD_LEVEL_CRITICAL);
static_assert(static_cast<int>(RefusalScope::Budget) == VRAMGUARD_SCOPE_BUDGET &&
              static_cast<int>(RefusalScope::LeaveFree) == VRAMGUARD_SCOPE_LEAVE_FREE &&
              static_cast<int>(RefusalScope::Device) == VRAMGUARD_SCOPE_DEVICE);
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
  return with_device(ordinal, [&](Guard& ours, GuardedDevice& device) {
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
    all.spilled = ours.spill().admitted();
    all.sentinel_wanted = device.sentinel.wanted_bytes();
    std::memcpy(out, &all, all.size);
    return VRAMGUARD_OK;
  });
}

int set_budget(int ordinal, std::uint64_t bytes) noexcept {
  if (bytes == 0) return VRAMGUARD_INVALID;
  return with_device(ordinal, [&](Guard& ours, GuardedDevice& device) {
    ours.set_budget(device, bytes);
    return VRAMGUARD_OK;
  });
}

int set_policy(const char* name) noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  const std::optional<OomPolicy> policy = name != nullptr ? oom_policy_named(name) : std::nullopt;
  if (!policy) return VRAMGUARD_INVALID;
  if (ours->observes()) return VRAMGUARD_OK;  // nothing is refused, so there is nothing to do about it
  for (int i = 0; i < ours->device_count(); ++i) ours->device(i)->oom.settings().policy = *policy;
  return VRAMGUARD_OK;
}

// The spill limit is of all devices together.
int set_device_policy(int ordinal, const vramguard_policy* told) noexcept {
  if (told == nullptr || told->size < sizeof told->size) return VRAMGUARD_INVALID;
  vramguard_policy policy{};
  std::memcpy(&policy, told, std::min(told->size, sizeof policy));
  const std::optional<OomPolicy> wanted = policy.name != nullptr ? oom_policy_named(policy.name) : std::nullopt;
  if (!wanted) return VRAMGUARD_INVALID;
  return with_device(ordinal, [&](Guard& ours, GuardedDevice& device) {
    if (ours.observes()) return VRAMGUARD_OK;
    OomSettings& settings = device.oom.settings();
    if (wanted == OomPolicy::WaitAndRetry) {
      settings.wait_timeout =
          std::min<std::chrono::milliseconds>(std::chrono::milliseconds(policy.wait_timeout_ms), kLongestWait);
    }
    if (wanted == OomPolicy::Spill) ours.spill().set_limit(policy.spill_limit);
    settings.policy = *wanted;
    return VRAMGUARD_OK;
  });
}

int reset_peak(int ordinal) noexcept {
  return with_device(ordinal, [](Guard&, GuardedDevice& device) {
    device.memory.reset_peak();
    return VRAMGUARD_OK;
  });
}

int last_refusal(vramguard_refusal* out) noexcept {
  if (out == nullptr || out->size < sizeof out->size) return VRAMGUARD_INVALID;
  if (guard() == nullptr) return VRAMGUARD_NOT_RUNNING;
  vramguard_refusal last = thread_state().refusal;
  if (last.size == 0) return VRAMGUARD_NOT_FOUND;
  last.size = std::min(out->size, sizeof last);
  std::memcpy(out, &last, last.size);
  return VRAMGUARD_OK;
}

int reserve(int ordinal, std::uint64_t bytes) noexcept {
  return with_device(ordinal, [&](Guard& ours, GuardedDevice& device) {
    ours.set_sentinel(device, bytes);
    return VRAMGUARD_OK;
  });
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
  static constinit const vg_c_api functions{device_count,
                                            get_statistics,
                                            reset_peak,
                                            last_refusal,
                                            set_budget,
                                            set_policy,
                                            set_device_policy,
                                            c_callbacks::add_oom_hook,
                                            c_callbacks::remove_oom_hook,
                                            c_callbacks::register_hook,
                                            c_callbacks::unregister_hook,
                                            c_callbacks::set_checkpoint,
                                            c_callbacks::remove_checkpoint,
                                            c_callbacks::add_pressure_listener,
                                            c_callbacks::remove_pressure_listener,
                                            reserve,
                                            release_reservation,
                                            has_reservation};
  return functions;
}

}  // namespace vramguard
