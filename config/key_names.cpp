#include "config/key_names.h"

#include "config/nearest_name.h"

#include <algorithm>
#include <vector>

namespace vramguard {
namespace {

std::string in_quotes(std::string_view name) { return "'" + std::string(name) + "'"; }

// Where a key lives, for somebody who has put it elsewhere.
KeySuggestion with_section(const Key& key) {
  const std::string place = key.section.empty() ? " at the top of the file" : " in [" + std::string(key.section) + "]";
  return {full_name(key), in_quotes(key.name) + place};
}

}  // namespace

const Key* find_key(std::span<const Key> keys, std::string_view section, std::string_view name) {
  for (const Key& key : keys) {
    if (key.section == section && key.name == name) return &key;
  }
  return nullptr;
}

bool is_section(std::string_view name) {
  const auto keys = all_keys();
  return std::any_of(keys.begin(), keys.end(), [&](const Key& key) { return !name.empty() && key.section == name; });
}

KeySuggestion suggest_key(std::span<const Key> keys, std::string_view section, std::string_view name) {
  // The right name in the wrong table is more likely than a slip that happens to be near another key.
  for (const Key& key : keys) {
    if (key.name == name) return with_section(key);
  }
  std::vector<std::string_view> here;
  for (const Key& key : keys) {
    if (key.section == section) here.push_back(key.name);
    if (section.empty() && !key.section.empty()) here.push_back(key.section);
  }
  if (section.empty()) here.insert(here.end(), {"gpu", "hook"});
  if (const auto nearest = nearest_name(name, here); !nearest.empty()) {
    const bool table = section.empty() && (is_section(nearest) || nearest == "gpu" || nearest == "hook");
    const std::string full(nearest);
    if (table) return {full, "[" + full + "]"};
    return {section.empty() ? full : std::string(section) + "." + full, in_quotes(nearest)};
  }
  std::vector<std::string_view> anywhere;
  for (const Key& key : keys) anywhere.push_back(key.name);
  const auto nearest = nearest_name(name, anywhere);
  for (const Key& key : keys) {
    if (!nearest.empty() && key.name == nearest) return with_section(key);
  }
  return {};
}

}  // namespace vramguard
