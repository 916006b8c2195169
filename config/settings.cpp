#include "config/settings.h"

#include "core/device_name.h"

#include <utility>

namespace vramguard {
namespace {

bool same_device(const std::string& a, const std::string& b) {
  const auto first = parse_device_name(a);
  const auto second = parse_device_name(b);
  return first && second && same_name(*first, *second);
}

}  // namespace

Settings::Settings() {
  for (const auto table : {all_keys(), limit_keys()}) {
    for (const Key& key : table) settings_.push_back({&key, std::string(key.default_text), {}});
  }
}

void Settings::error(const Place& place, std::string key, std::string message, std::string suggestion) {
  diagnostics_.push_back({Severity::Error, place, std::move(key), std::move(suggestion), std::move(message)});
}

void Settings::warning(const Place& place, std::string key, std::string message, std::string suggestion) {
  diagnostics_.push_back({Severity::Warning, place, std::move(key), std::move(suggestion), std::move(message)});
}

std::optional<Value> Settings::check(const Key& key, std::string_view label, std::string_view text,
                                     const Place& place) {
  auto result = parse_value(key.type, key.words, text);
  if (auto* failed = std::get_if<ValueError>(&result)) {
    error(place, std::string(label), std::string(label) + ": " + failed->message, failed->suggestion);
    return std::nullopt;
  }
  auto& value = std::get<Value>(result);
  const std::string objection = key.objection == nullptr ? "" : key.objection(value);
  if (!objection.empty()) {
    error(place, std::string(label), std::string(label) + ": '" + std::string(text) + "' " + objection);
    return std::nullopt;
  }
  return std::move(value);
}

void Settings::set(const Key& key, std::string_view text, const Place& place) {
  const auto value = check(key, full_name(key), text, place);
  if (!value) return;
  if (key.store != nullptr) key.store(config_, *value);
  for (Setting& setting : settings_) {
    if (setting.key != &key) continue;
    setting.text = text;
    setting.place = place;
  }
}

void Settings::set_device_budget(NamedBudget budget, unsigned strength, const Place& place) {
  for (DeviceSetting& device : devices_) {
    if (!same_device(device.budget.device, budget.device)) continue;
    device = {std::move(budget), strength, place};
    return;
  }
  devices_.push_back({std::move(budget), strength, place});
}

void Settings::set_device_sentinel(DeviceSentinel sentinel, std::string text, const Place& place) {
  for (SentinelSetting& device : sentinels_) {
    if (!same_device(device.sentinel.device, sentinel.device)) continue;
    device = {std::move(sentinel), std::move(text), place};
    return;
  }
  sentinels_.push_back({std::move(sentinel), std::move(text), place});
}

void Settings::set_hook(HookSetting hook) {
  for (HookSetting& old : hooks_) {
    if (old.hook.name != hook.hook.name) continue;
    old = std::move(hook);
    return;
  }
  hooks_.push_back(std::move(hook));
}

const Settings::Setting& Settings::setting(std::string_view name) const {
  for (const Setting& candidate : settings_) {
    if (full_name(*candidate.key) == name) return candidate;
  }
  return settings_.front();
}

void Settings::check_falls(const Setting& above, const Setting& below, const Threshold& high, const Threshold& low) {
  const bool percent_falls = !high.percent || !low.percent || *low.percent < *high.percent;
  const bool bytes_fall = !high.bytes || !low.bytes || *low.bytes < *high.bytes;
  if (percent_falls && bytes_fall) return;
  const Setting& culprit = below.is_default() ? above : below;
  const std::string name = full_name(*below.key);
  error(culprit.place, full_name(*culprit.key),
        name + " (" + below.text + ") must be lower than " + full_name(*above.key) + " (" + above.text + ")");
}

void Settings::check_thresholds() {
  const Setting& low = setting("pressure.low");
  const Setting& medium = setting("pressure.medium");
  const Setting& high = setting("pressure.high");
  check_falls(low, medium, config_.pressure.low, config_.pressure.medium);
  check_falls(medium, high, config_.pressure.medium, config_.pressure.high);
}

std::chrono::milliseconds Settings::duration_of(const Setting& setting) const {
  return std::get<std::chrono::milliseconds>(std::get<Value>(parse_duration(setting.text)));
}

void Settings::finish_hooks(LoadResult& result) {
  const Setting& timeout = setting("hooks.timeout");
  const Setting& cooldown = setting("hooks.cooldown");
  for (HookSetting& hook : hooks_) {
    const std::string table = "hook.\"" + hook.hook.name + "\".";
    for (HookSetting::Field& field : hook.fields)
      result.values.push_back({table + field.key, std::move(field.text), std::move(field.place)});
    if (!hook.has_timeout) {
      hook.hook.timeout = duration_of(timeout);
      result.values.push_back({table + "timeout", timeout.text, timeout.place});
    }
    if (!hook.has_cooldown) {
      hook.hook.cooldown = duration_of(cooldown);
      result.values.push_back({table + "cooldown", cooldown.text, cooldown.place});
    }
    config_.hooks.push_back(std::move(hook.hook));
  }
  if (setting("hooks").text == "false") {  // the administrator's: no command or signal at all
    config_.hooks_enabled = false;
    config_.oom.checkpoint.clear();
    config_.oom.checkpoint_signal.reset();
  }
}

LoadResult Settings::finish() {
  check_thresholds();
  LoadResult result;
  for (Setting& setting : settings_) {
    const bool is_limit = setting.key >= limit_keys().data() && setting.key < limit_keys().data() + limit_keys().size();
    if (setting.key->type == KeyType::Schema || (is_limit && setting.is_default())) continue;
    const std::string name = (is_limit ? "limits." : "") + full_name(*setting.key);
    result.values.push_back({name, setting.text, setting.place});
    if (name == "budget") {
      for (const DeviceSetting& device : devices_)
        result.values.push_back({"gpu.\"" + device.budget.device + "\".budget", device.budget.text, device.place});
    } else if (name == "sentinel") {
      for (const SentinelSetting& device : sentinels_)
        result.values.push_back({"gpu.\"" + device.sentinel.device + "\".sentinel", device.text, device.place});
    } else if (name == "hooks.cooldown") {
      finish_hooks(result);
    }
  }
  for (DeviceSetting& device : devices_) {
    config_.device_budgets.push_back({std::move(device.budget.device), device.budget.size, device.strength});
  }
  for (SentinelSetting& device : sentinels_) config_.device_sentinels.push_back(std::move(device.sentinel));
  result.config = std::move(config_);
  result.diagnostics = std::move(diagnostics_);
  return result;
}

}  // namespace vramguard
