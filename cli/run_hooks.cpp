#include "cli/run_hooks.h"

#include "cli/exit_status.h"
#include "cli/run_file.h"
#include "config/choice.h"
#include "config/load_config.h"
#include "config/shell_command.h"
#include "config/value.h"
#include "config/write_config.h"

#include "core/state/state_folder.h"
#include "core/utf8.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <variant>

namespace vramguard {
namespace {

Problem usage(std::string message) { return {kVramguardFailed, std::move(message)}; }

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

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

// What the files say, and the variables that decide about times which hooks inherit. All other variables stay with the
// command and are read there.
ChildEnvironment file_environment(const ChildEnvironment& environment) {
  ChildEnvironment out(nullptr);
  for (const char* name :
       {"HOME", "XDG_CONFIG_HOME", "VRAMGUARD_CONFIG", "VRAMGUARD_HOOKS_TIMEOUT", "VRAMGUARD_HOOKS_COOLDOWN"}) {
    if (environment.has(name)) out.set(name, environment.get(name));
  }
  return out;
}

std::chrono::milliseconds duration_in(const LoadResult& loaded, std::string_view key) {
  const auto value = std::find_if(loaded.values.begin(), loaded.values.end(),
                                  [&](const EffectiveValue& candidate) { return candidate.key == key; });
  return std::get<std::chrono::milliseconds>(std::get<Value>(parse_duration(value->text)));
}

std::optional<Problem> add_hooks(const HookOptions& options, const LoadResult& loaded, GuardConfig& config) {
  std::vector<std::variant<HookConfig, Problem>> hooks;
  for (const std::string& text : options.on) hooks.push_back(pressure_hook(text));
  for (const std::string& text : options.on_oom) hooks.push_back(oom_hook(text));
  for (auto& parsed : hooks) {
    if (auto* problem = std::get_if<Problem>(&parsed)) return std::move(*problem);
    auto& hook = std::get<HookConfig>(parsed);
    make_unique(hook.name, config.hooks);
    hook.timeout = duration_in(loaded, "hooks.timeout");
    hook.cooldown = duration_in(loaded, "hooks.cooldown");
    config.hooks.push_back(std::move(hook));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> apply_hooks(const HookOptions& options, ChildEnvironment& environment) {
  LoadResult loaded = load_config({file_environment(environment).pointers()}, system_paths());
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    std::fprintf(stderr, "vramguard: %s\n", to_string(diagnostic).c_str());
  if (!loaded.ok()) return usage("the configuration is wrong");
  if (auto problem = add_hooks(options, loaded, loaded.config)) return problem;

  auto folder = open_state_folder(environment.get("VRAMGUARD_STATE_DIR"));
  if (auto* problem = std::get_if<StateProblem>(&folder)) return usage(std::move(problem->message));
  const auto& path = std::get<std::string>(folder);
  remove_stale_run_files(path);
  auto file = write_run_file(path, "# Written by 'vramguard run' for one command.\n" + write_config(loaded.config));
  if (auto* problem = std::get_if<Problem>(&file)) return std::move(*problem);
  environment.set("VRAMGUARD_CONFIG", std::get<std::string>(file));
  return std::nullopt;
}

}  // namespace vramguard
