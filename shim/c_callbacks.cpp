#include "shim/c_callbacks.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "shim/process.h"

namespace vramguard::c_callbacks {

namespace {

constexpr std::size_t kLongestName = 64;

// Tells functions of one kind apart, each with its context. Never 0.
template <typename Function>
std::uint64_t key_of(Function* function, void* context) noexcept {
  return (reinterpret_cast<std::uint64_t>(function) * 0x9e3779b97f4a7c15ULL ^
          reinterpret_cast<std::uint64_t>(context)) |
         std::uint64_t{1} << 63;
}

vramguard_request request_of(const HookFacts& facts) noexcept {
  return {sizeof(vramguard_request),
          facts.device != nullptr ? facts.device->ordinal : 0,
          facts.requested,
          facts.missing,
          facts.budget.value_or(kUnlimitedBytes),
          facts.used,
          facts.attempt,
          static_cast<unsigned>(facts.deadline.count()),
          facts.card_free.value_or(kUnlimitedBytes)};
}

HookCallback callback_of(vramguard_oom_hook hook, void* context) {
  return [=](const HookFacts& facts) -> Bytes {
    const vramguard_request request = request_of(facts);
    const std::uint64_t freed = hook(&request, context);
    if (freed == VRAMGUARD_HOOK_FAILED) throw std::runtime_error("the hook says so");
    return freed;
  };
}

// False: no name, or too long a one.
bool take_name(const char* name, HookConfig& config) {
  const std::size_t length = name != nullptr ? strnlen(name, kLongestName + 1) : 0;
  if (length == 0 || length > kLongestName) return false;
  config.name.assign(name, length);
  config.on = HookEvent::Oom;
  return true;
}

}  // namespace

int add_oom_hook(const char* name, int priority, std::uint64_t estimated_free, vramguard_oom_hook hook,
                 void* context) noexcept try {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  HookConfig config;
  if (!take_name(name, config) || hook == nullptr) return VRAMGUARD_INVALID;
  config.priority = priority;
  config.estimated_free = estimated_free;
  HookList::Hooks replaced;
  if (!ours->hooks().replace(std::move(config), callback_of(hook, context), replaced)) return VRAMGUARD_NO_MEMORY;
  ours->hook_runner().wait_for_end(replaced);
  return VRAMGUARD_OK;
} catch (...) {
  return VRAMGUARD_NO_MEMORY;
}

int remove_oom_hook(const char* name) noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  if (name == nullptr) return VRAMGUARD_INVALID;
  const HookList::Hooks removed = ours->hooks().remove(std::string_view(name));
  ours->hook_runner().wait_for_end(removed);
  return removed.empty() ? VRAMGUARD_NOT_FOUND : VRAMGUARD_OK;
}

int register_hook(const vramguard_hook* told) noexcept try {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  if (told == nullptr || told->size < sizeof told->size) return VRAMGUARD_INVALID;
  vramguard_hook hook{};
  std::memcpy(&hook, told, std::min(told->size, sizeof hook));
  HookConfig config;
  if (!take_name(hook.name, config) || hook.hook == nullptr || hook.device < -1) return VRAMGUARD_INVALID;
  if (hook.device >= ours->device_count()) return VRAMGUARD_NO_DEVICE;
  config.priority = hook.priority;
  config.estimated_free = hook.estimated_free;
  config.overhead = hook.overhead;
  const Registration how{key_of(hook.hook, hook.context), hook.device >= 0 ? std::optional(hook.device) : std::nullopt};
  return ours->hooks().add(std::move(config), callback_of(hook.hook, hook.context), how) ? VRAMGUARD_OK
                                                                                         : VRAMGUARD_NO_MEMORY;
} catch (...) {
  return VRAMGUARD_NO_MEMORY;
}

int unregister_hook(vramguard_oom_hook hook, void* context) noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  const HookList::Hooks removed = ours->hooks().remove(key_of(hook, context));
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
  ours->checkpoint().set_callback(std::move(callback), key_of(checkpoint, context));
  ours->checkpoint().wait_for_end();
  return VRAMGUARD_OK;
} catch (...) {
  return VRAMGUARD_NO_MEMORY;
}

int remove_checkpoint(vramguard_checkpoint checkpoint, void* context) noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return VRAMGUARD_NOT_RUNNING;
  const bool removed = ours->checkpoint().remove_callback(key_of(checkpoint, context));
  ours->checkpoint().wait_for_end();
  return removed ? VRAMGUARD_OK : VRAMGUARD_NOT_FOUND;
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

}  // namespace vramguard::c_callbacks
