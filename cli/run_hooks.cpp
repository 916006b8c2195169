#include "cli/run_hooks.h"

#include "cli/exit_status.h"
#include "config/choice.h"
#include "config/shell_command.h"
#include "config/value.h"

#include "core/utf8.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace vramguard {
namespace {

Problem usage(std::string message) { return {kVramguardFailed, std::move(message)}; }

std::optional<Problem> set_command(const std::string& option, const std::string& command, HookConfig& hook) {
  if (command.find_first_not_of(" \t\n") == std::string::npos) return usage(option + ": the command is empty");
  if (!is_utf8(command)) return usage(option + ": the command is not UTF-8; put it into a script");
  hook.argv = shell_command(command);
  return std::nullopt;
}

std::variant<HookConfig, Problem> pressure_hook(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return usage("--on: '" + text + "' is not LEVEL=COMMAND, such as high='curl ...'");
  HookConfig hook;
  const auto level = parse_value(KeyType::Choice, "low|medium|high|critical", text.substr(0, equals));
  if (const auto* error = std::get_if<ValueError>(&level)) return usage("--on: " + error->message);
  hook.at = choice<PressureLevel>(std::get<Value>(level), kPressureLevelWords);
  hook.name = "on-" + text.substr(0, equals);
  if (auto problem = set_command("--on", text.substr(equals + 1), hook)) return std::move(*problem);
  return hook;
}

std::variant<HookConfig, Problem> oom_hook(const std::string& command) {
  HookConfig hook;
  hook.name = "on-oom";
  hook.on = HookEvent::Oom;
  if (auto problem = set_command("--on-oom", command, hook)) return std::move(*problem);
  return hook;
}

// "on-high", or "on-high-2" where there is one already.
void make_unique(std::string& name, const std::vector<HookConfig>& hooks) {
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(hooks.begin(), hooks.end(), [&](const HookConfig& hook) { return hook.name == candidate; });
  };
  std::string unique = name;
  for (int i = 2; taken(unique); ++i) unique = name + "-" + std::to_string(i);
  name = std::move(unique);
}

std::chrono::milliseconds duration_in(const LoadResult& loaded, std::string_view key) {
  const auto value = std::find_if(loaded.values.begin(), loaded.values.end(),
                                  [&](const EffectiveValue& candidate) { return candidate.key == key; });
  return std::get<std::chrono::milliseconds>(std::get<Value>(parse_duration(value->text)));
}

}  // namespace

std::optional<Problem> add_hooks(const HookOptions& options, LoadResult& loaded) {
  if (options.empty()) return std::nullopt;
  std::vector<std::variant<HookConfig, Problem>> hooks;
  for (const std::string& text : options.on) hooks.push_back(pressure_hook(text));
  for (const std::string& text : options.on_oom) hooks.push_back(oom_hook(text));
  for (auto& parsed : hooks) {
    if (auto* problem = std::get_if<Problem>(&parsed)) return std::move(*problem);
    auto& hook = std::get<HookConfig>(parsed);
    make_unique(hook.name, loaded.config.hooks);
    hook.timeout = duration_in(loaded, "hooks.timeout");
    hook.cooldown = duration_in(loaded, "hooks.cooldown");
    loaded.config.hooks.push_back(std::move(hook));
  }
  if (!loaded.config.hooks_enabled)
    return usage("--on and --on-oom: hooks are switched off by the configuration; 'vramguard check' says where");
  return std::nullopt;
}

}  // namespace vramguard
