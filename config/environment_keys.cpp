#include "config/environment_keys.h"

#include "config/budget_list.h"
#include "config/key_names.h"
#include "config/nearest_name.h"

#include <algorithm>
#include <utility>

namespace vramguard {
namespace {

constexpr std::string_view kPrefix = "VRAMGUARD_";
constexpr std::string_view kHookPrefix = "VRAMGUARD_HOOK_";  // what hooks are told; not ours to read

Place place_of(std::string_view variable) { return {"", 0, 0, std::string(variable)}; }

void read_budget(const Key& key, std::string_view text, Settings& settings) {
  const Place place = place_of(key.variable);
  auto parsed = parse_budget_list(text);
  if (auto* message = std::get_if<std::string>(&parsed)) {
    settings.error(place, full_name(key), std::move(*message));
    return;
  }
  auto& list = std::get<BudgetList>(parsed);
  if (list.general) {
    settings.forget_device_budgets();
    settings.set(key, list.general_text, place);
  }
  for (NamedBudget& budget : list.named) settings.set_device_budget(std::move(budget), 1, place);
}

// A switch with the words it can be.
void check_switch(const Environment& environment, std::string_view variable, std::string_view words,
                  Settings& settings) {
  const auto text = environment.get(variable);
  if (!text) return;
  const auto value = parse_value(KeyType::Choice, words, *text);
  if (const auto* error = std::get_if<ValueError>(&value)) settings.error(place_of(variable), "", error->message);
}

void read_state_dir(const Environment& environment, Settings& settings) {
  constexpr std::string_view kVariable = "VRAMGUARD_STATE_DIR";
  const auto folder = environment.get(kVariable);
  if (!folder) return;
  if (folder->starts_with('/')) {
    settings.set_state_dir(*folder);
  } else {
    settings.error(place_of(kVariable), "", "'" + std::string(*folder) + "' is no absolute path");
  }
}

// The variable that the rule VRAMGUARD_<SECTION>_<KEY> would give a key whose variable has another name.
std::string by_rule(const Key& key) {
  std::string name(kPrefix);
  for (const char c : full_name(key))
    name += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

bool is_known(std::string_view name) {
  const auto others = other_variables();
  const auto keys = all_keys();
  return std::find(others.begin(), others.end(), name) != others.end() ||
         std::any_of(keys.begin(), keys.end(), [&](const Key& key) { return key.variable == name; });
}

std::string nearest_variable(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Key& key : all_keys()) {
    if (key.variable.empty()) continue;
    if (by_rule(key) == name) return std::string(key.variable);
    known.push_back(key.variable.substr(kPrefix.size()));
  }
  for (const std::string_view other : other_variables()) known.push_back(other.substr(kPrefix.size()));
  const auto nearest = nearest_name(name.substr(kPrefix.size()), known);
  return nearest.empty() ? "" : std::string(kPrefix) + std::string(nearest);
}

void warn_of_unknown(const Environment& environment, Settings& settings) {
  for (const char* const* entry = environment.entries; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view name = *entry;
    name = name.substr(0, name.find('='));
    if (!name.starts_with(kPrefix) || name.starts_with(kHookPrefix) || is_known(name)) continue;
    const std::string suggestion = nearest_variable(name);
    settings.warning(place_of(name), "",
                     "unknown variable" + (suggestion.empty() ? "" : "; did you mean " + suggestion + "?"), suggestion);
  }
}

}  // namespace

void read_environment(const Environment& environment, Settings& settings) {
  for (const Key& key : all_keys()) {
    if (key.variable.empty()) continue;
    const auto text = environment.get(key.variable);
    if (!text) continue;
    if (key.name == "budget") {
      read_budget(key, *text, settings);
    } else {
      if (key.name == "sentinel") settings.forget_device_sentinels();
      settings.set(key, *text, place_of(key.variable));
    }
  }
  check_switch(environment, "VRAMGUARD", "0|1", settings);
  check_switch(environment, "VRAMGUARD_ON_ERROR", "fail|run", settings);
  check_switch(environment, "VRAMGUARD_QUIET", "0|1", settings);
  settings.set_quiet(environment.get("VRAMGUARD_QUIET") == "1");
  read_state_dir(environment, settings);
  warn_of_unknown(environment, settings);
}

}  // namespace vramguard
