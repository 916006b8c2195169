#include "config/hook_reader.h"

#include "config/choice.h"
#include "config/key_names.h"
#include "config/shell_command.h"
#include "config/signal_text.h"
#include "config/toml_text.h"
#include "config/toml_value_text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace vramguard {
namespace {

bool is_action(std::string_view key) { return key == "shell" || key == "argv" || key == "signal"; }

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

void HookReader::error(TomlPosition at, std::string_view key, std::string message, std::string suggestion) {
  settings_.error(place(at), key.empty() ? "hook" : "hook." + std::string(key), std::move(message),
                  std::move(suggestion));
  read_.good = false;
}

const TomlMember* HookReader::find(std::string_view key) const {
  for (const TomlMember& member : table_.members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

ReadHook HookReader::read() {
  const TomlMember* name = find("name");
  if (name == nullptr || (name->value.kind == TomlKind::Text && name->value.text.empty()))
    error(table_.at, "name", "a hook without a 'name'");
  for (const TomlMember& member : table_.members) read_member(member);
  check_event();
  check_action();
  return std::move(read_);
}

void HookReader::read_member(const TomlMember& member) {
  const Key* key = find_key(hook_keys(), "hook", member.key);
  if (key == nullptr) {
    const KeySuggestion suggestion = suggest_key(hook_keys(), "hook", member.key);
    error(member.key_at, member.key,
          "unknown key '" + member.key + "' in [[hook]]" +
              (suggestion.words.empty() ? "" : "; did you mean " + suggestion.words + "?"),
          suggestion.name);
    return;
  }
  const auto text = text_for(*key, full_name(*key), member.value, path_, settings_);
  if (!text) {
    read_.good = false;
    return;
  }
  store(*key, member, *text);
  if (key->name == "name") return;  // it stands in front of all the others
  read_.setting.fields.push_back(
      {member.key, key->type == KeyType::TextList ? toml_list(texts_of(member.value)) : *text, place(member.value.at)});
}

void HookReader::store(const Key& key, const TomlMember& member, const std::string& text) {
  const auto value = settings_.check(key, full_name(key), text, place(member.value.at));
  if (!value) {
    read_.good = false;
    return;
  }
  HookSetting& setting = read_.setting;
  HookConfig& hook = setting.hook;
  if (key.name == "name") {
    hook.name = text;
    if (has_control_character(text)) error(member.value.at, "name", "hook.name: it has a control character in it");
  } else if (key.name == "on") {
    hook.on = choice<HookEvent>(*value, kHookEventWords);
    event_ = hook.on;
  } else if (key.name == "at") {
    hook.at = choice<PressureLevel>(*value, kPressureLevelWords);
  } else if (key.name == "mode") {
    hook.once = text == "once";
  } else if (key.name == "shell") {
    store_command(member, shell_command(text));
  } else if (key.name == "argv") {
    store_command(member, texts_of(member.value));
  } else if (key.name == "signal") {
    store_signal(member, text);
  } else if (key.name == "target") {
    signal_.target = choice<SignalTarget>(*value, kSignalTargetWords);
  } else if (key.name == "require_handler") {
    signal_.require_handler = std::get<bool>(*value);
  } else if (key.name == "priority") {
    hook.priority = std::get<std::int64_t>(*value);
  } else if (key.name == "estimated_free") {
    hook.estimated_free = bytes_or_none(*value);
  } else if (key.name == "overhead") {
    hook.overhead = bytes_or_none(*value);
  } else if (key.name == "timeout") {
    hook.timeout = std::get<std::chrono::milliseconds>(*value);
    setting.has_timeout = true;
  } else if (key.name == "cooldown") {
    hook.cooldown = std::get<std::chrono::milliseconds>(*value);
    setting.has_cooldown = true;
  }
}

void HookReader::store_command(const TomlMember& member, std::vector<std::string> argv) {
  const std::string label = "hook." + member.key;
  const bool is_shell = member.key == "shell";
  const std::string& program = is_shell ? argv.back() : argv.front();
  if (program.find_first_not_of(" \t\n") == std::string::npos) {
    error(member.value.at, member.key, label + ": the command is empty");
  } else if (!is_shell && program.front() != '/' && program.find('/') != std::string::npos) {
    error(member.value.at, member.key,
          label + ": '" + program + "' is a relative path, and hooks run in /; write an absolute path or a bare name");
  }
  for (const std::string& argument : argv) {
    if (argument.find('\0') == std::string::npos) continue;
    error(member.value.at, member.key, label + ": it has a NUL character in it; a command cannot");
    break;
  }
  read_.setting.hook.argv = std::move(argv);
}

void HookReader::store_signal(const TomlMember& member, const std::string& text) {
  const auto signal = read_signal(text);
  if (const auto* wrong = std::get_if<std::string>(&signal)) {
    error(member.value.at, "signal", "hook.signal: '" + text + "' " + *wrong);
  } else {
    signal_.number = std::get<int>(signal);
  }
}

void HookReader::check_event() {
  const TomlMember* at = find("at");
  if (find("on") == nullptr) {
    error(table_.at, "on", "a hook without 'on': when should it run?");
  } else if (event_ == HookEvent::Pressure && at == nullptr) {
    error(table_.at, "at",
          "a pressure hook without 'at': write the level at which it runs, low, medium, high or critical");
  } else if (event_ && event_ != HookEvent::Pressure && at != nullptr) {
    error(at->key_at, "at", "'at' is for hooks with on = \"pressure\" only; remove it");
  }
}

void HookReader::check_action() {
  std::vector<std::string> actions;
  for (const TomlMember& member : table_.members) {
    if (is_action(member.key)) actions.push_back(member.key);
  }
  if (actions.empty()) {
    error(table_.at, "", "a hook without a command: write one of 'shell', 'argv' and 'signal'");
  } else if (actions.size() > 1) {
    error(table_.at, "",
          "a hook with both '" + actions[0] + "' and '" + actions[1] + "': write one of 'shell', 'argv' and 'signal'");
  }
  if (find("signal") != nullptr) {
    read_.setting.hook.signal = signal_;
    return;
  }
  for (const std::string_view key : {"target", "require_handler"}) {
    const TomlMember* member = find(key);
    if (member == nullptr) continue;
    error(member->key_at, key, "'" + std::string(key) + "' is for hooks with a 'signal' only; remove it");
  }
}

}  // namespace vramguard
