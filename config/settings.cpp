#include "config/settings.h"

#include "core/device_name.h"

#include <utility>

namespace vramguard {
namespace {

constexpr std::string_view kVersion = VRAMGUARD_VERSION;

// `text` as one would write it in a file: texts in quotes, numbers and booleans without.
std::string written(const Key& key, std::string_view text) {
  const bool bare = key.type == KeyType::Boolean || key.type == KeyType::Integer;
  return bare ? std::string(text) : "\"" + std::string(text) + "\"";
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
  const std::string leave_it = "; remove it or leave it at " + written(key, key.default_text);
  if (key.built == Built::DefaultOnly) {
    const auto standard = parse_value(key.type, key.words, key.default_text);
    if (value != std::get<Value>(standard)) {
      const std::string what =
          key.type == KeyType::Choice ? std::string(label) + " = " + written(key, text) : std::string(label);
      error(place, std::string(label),
            "'" + what + "' is not built yet in version " + std::string(kVersion) + leave_it);
      return std::nullopt;
    }
  }
  if (!key.unbuilt.empty() && contains_word(key.unbuilt, text)) {
    error(place, std::string(label),
          "'" + std::string(label) + " = " + written(key, text) + "' is not built yet in version " +
              std::string(kVersion) + leave_it);
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
    const auto old_name = parse_device_name(device.budget.device);
    const auto new_name = parse_device_name(budget.device);
    if (!old_name || !new_name || !same_name(*old_name, *new_name)) continue;
    device = {std::move(budget), strength, place};
    return;
  }
  devices_.push_back({std::move(budget), strength, place});
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

LoadResult Settings::finish() {
  check_thresholds();
  LoadResult result;
  for (Setting& setting : settings_) {
    const bool is_limit = setting.key >= limit_keys().data() && setting.key < limit_keys().data() + limit_keys().size();
    if (setting.key->type == KeyType::Schema || (is_limit && setting.is_default())) continue;
    const std::string name = (is_limit ? "limits." : "") + full_name(*setting.key);
    result.values.push_back({name, std::move(setting.text), std::move(setting.place)});
    if (setting.key->name != "budget") continue;
    for (const DeviceSetting& device : devices_) {
      result.values.push_back({"gpu.\"" + device.budget.device + "\".budget", device.budget.text, device.place});
    }
  }
  for (DeviceSetting& device : devices_) {
    config_.device_budgets.push_back({std::move(device.budget.device), device.budget.size, device.strength});
  }
  result.config = std::move(config_);
  result.diagnostics = std::move(diagnostics_);
  return result;
}

}  // namespace vramguard
