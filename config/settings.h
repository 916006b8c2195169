// What has been read so far: the last value of each key with its place, and everything that was wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/budget_list.h"
#include "config/diagnostic.h"
#include "config/keys.h"
#include "config/load_config.h"

namespace vramguard {

// A hook as it was written. A plain value.
struct HookSetting {
  struct Field {
    std::string key;
    std::string text;
    Place place;
  };
  HookConfig hook;
  bool has_timeout = false;  // else that of [hooks]
  bool has_cooldown = false;
  std::vector<Field> fields;
};

// Not thread-safe.
class Settings {
 public:
  Settings();

  void error(const Place& place, std::string key, std::string message, std::string suggestion = "");
  void warning(const Place& place, std::string key, std::string message, std::string suggestion = "");

  // Parses `text` for `key`, says what is wrong with it, and otherwise makes
  // it the value that holds. `key` is a row of all_keys() or limit_keys().
  void set(const Key& key, std::string_view text, const Place& place);
  // Parses and checks only. nullopt after an error.
  std::optional<Value> check(const Key& key, std::string_view label, std::string_view text, const Place& place);

  // A budget for one device from a source of that strength; replaces one of the same name.
  void set_device_budget(NamedBudget budget, unsigned strength, const Place& place);
  // For a stronger source that has a general budget of its own.
  void forget_device_budgets() { devices_.clear(); }
  // The same for sentinels.
  void set_device_sentinel(DeviceSentinel sentinel, std::string text, const Place& place);
  void forget_device_sentinels() { sentinels_.clear(); }

  // Replaces one of the same name in its place.
  void set_hook(HookSetting hook);

  void read_from(const std::string& file) { config_.source = file; }
  void set_quiet(bool quiet) { config_.quiet = quiet; }
  void set_state_dir(std::string_view folder) { config_.state_dir = folder; }

  // The checks that need all keys together, then the result.
  LoadResult finish();

 private:
  struct Setting {
    const Key* key;
    std::string text;
    Place place;
    bool is_default() const { return place.file.empty() && place.variable.empty(); }
  };
  struct DeviceSetting {
    NamedBudget budget;
    unsigned strength;
    Place place;
  };

  struct SentinelSetting {
    DeviceSentinel sentinel;
    std::string text;
    Place place;
  };

  void check_thresholds();
  void finish_hooks(LoadResult& result);
  std::chrono::milliseconds duration_of(const Setting& setting) const;
  void check_falls(const Setting& above, const Setting& below, const Threshold& high, const Threshold& low);
  const Setting& setting(std::string_view full_name) const;

  GuardConfig config_;
  std::vector<Diagnostic> diagnostics_;
  std::vector<Setting> settings_;  // one for each row of all_keys(), then of limit_keys()
  std::vector<DeviceSetting> devices_;
  std::vector<SentinelSetting> sentinels_;
  std::vector<HookSetting> hooks_;
};

}  // namespace vramguard
