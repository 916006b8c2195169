#include "config/hook_tables.h"

#include "config/key_names.h"
#include "config/toml_value_text.h"

#include <map>
#include <vector>

namespace vramguard {
namespace {

Place place_in(const std::string& path, TomlPosition at) { return {path, at.line, at.column, ""}; }

std::string name_of(const TomlValue& hook) {
  for (const TomlMember& member : hook.members) {
    if (member.key == "name" && member.value.kind == TomlKind::Text) return member.value.text;
  }
  return "";
}

// Types, names and values of one hook's fields.
void check_fields(const TomlValue& hook, const std::string& path, Settings& settings) {
  std::vector<std::string> actions;
  bool has_event = false;
  for (const TomlMember& member : hook.members) {
    const Key* key = find_key(hook_keys(), "hook", member.key);
    if (key == nullptr) {
      const KeySuggestion suggestion = suggest_key(hook_keys(), "hook", member.key);
      settings.error(place_in(path, member.key_at), "hook." + member.key,
                     "unknown key '" + member.key + "' in [[hook]]" +
                         (suggestion.words.empty() ? "" : "; did you mean " + suggestion.words + "?"),
                     suggestion.name);
      continue;
    }
    if (key->name == "on") has_event = true;
    if (key->name == "shell" || key->name == "argv" || key->name == "signal") actions.push_back(member.key);
    const auto text = text_for(*key, full_name(*key), member.value, path, settings);
    if (text && key->type != KeyType::TextList)
      settings.check(*key, full_name(*key), *text, place_in(path, member.value.at));
  }
  if (!has_event) settings.error(place_in(path, hook.at), "hook.on", "a hook without 'on': when should it run?");
  if (actions.empty()) {
    settings.error(place_in(path, hook.at), "hook",
                   "a hook without a command: write one of 'shell', 'argv' and 'signal'");
  }
  if (actions.size() > 1) {
    settings.error(
        place_in(path, hook.at), "hook",
        "a hook with both '" + actions[0] + "' and '" + actions[1] + "': write one of 'shell', 'argv' and 'signal'");
  }
}

}  // namespace

void read_hook_tables(const TomlMember& hooks, const std::string& path, const std::string& distrust,
                      Settings& settings) {
  if (hooks.value.kind != TomlKind::Array) {
    settings.error(place_in(path, hooks.key_at), "hook", "hooks are a list of tables; write [[hook]]");
    return;
  }
  std::map<std::string, int> lines;  // of the names seen
  for (const TomlValue& hook : hooks.value.items) {
    if (hook.kind != TomlKind::Table) {
      settings.error(place_in(path, hook.at), "hook", "hooks are a list of tables; write [[hook]]");
      continue;
    }
    const std::string name = name_of(hook);
    if (name.empty()) settings.error(place_in(path, hook.at), "hook.name", "a hook without a 'name'");
    const auto [seen, is_new] = lines.try_emplace(name, hook.at.line);
    if (!name.empty() && !is_new) {
      settings.error(place_in(path, hook.at), "hook.name",
                     "a second hook is called '" + name + "'; the first is in line " + std::to_string(seen->second));
    }
    check_fields(hook, path, settings);
    if (!distrust.empty()) {
      settings.warning(place_in(path, hook.at), "hook", "hook '" + name + "' is ignored: " + distrust);
    } else {
      settings.error(place_in(path, hook.at), "hook",
                     std::string("'[[hook]]' is not built yet in version ") + VRAMGUARD_VERSION + "; remove it");
    }
  }
}

}  // namespace vramguard
