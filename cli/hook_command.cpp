#include "cli/hook_command.h"

#include "cli/exit_status.h"
#include "cli/hook_facts_example.h"
#include "cli/problem.h"
#include "config/choice.h"
#include "config/load_config.h"
#include "config/nearest_name.h"
#include "config/toml_text.h"
#include "config/value.h"
#include "core/errno_text.h"

#include "core/command.h"
#include "core/command_environment.h"
#include "core/log_path.h"
#include "core/process_signals.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

namespace vramguard {
namespace {

using std::chrono::milliseconds;

constexpr int kTimedOut = 124;   // as timeout(1)
constexpr int kSignalled = 128;  // and the signal's number, as a shell
constexpr int kNotSent = 1;
constexpr int kWait = 75;

void say(const char* label, const std::string& text) { std::printf("%-9s %s\n", label, text.c_str()); }

const HookConfig* find_hook(const GuardConfig& config, const std::string& name) {
  const auto hook = std::find_if(config.hooks.begin(), config.hooks.end(),
                                 [&](const HookConfig& candidate) { return candidate.name == name; });
  return hook == config.hooks.end() ? nullptr : &*hook;
}

std::string no_such_hook(const GuardConfig& config, const std::string& name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const HookConfig& hook : config.hooks) {
    names.push_back(hook.name);
    all += (all.empty() ? "" : ", ") + hook.name;
  }
  const std::string message = "no hook is called '" + name + "'";
  if (names.empty()) return message + "; the configuration has none";
  const auto nearest = nearest_name(name, names);
  return message + (nearest.empty() ? "; there are: " + all : "; did you mean '" + std::string(nearest) + "'?");
}

// At which it is tried out, unless the user names one.
PressureLevel own_level(const HookConfig& hook) {
  switch (hook.on) {
    case HookEvent::Pressure:
      return hook.at;
    case HookEvent::Oom:
    case HookEvent::OomReturned:
      return PressureLevel::Critical;
    case HookEvent::Budget:
      break;
  }
  return PressureLevel::None;
}

std::string event_in_words(const HookConfig& hook, PressureLevel level) {
  std::string out(word_of(hook.on, kHookEventWords));
  if (hook.on == HookEvent::Pressure) out += " at " + std::string(word_of(hook.at, kPressureLevelWords));
  return out + (level == own_level(hook) ? "" : ", tried at " + std::string(word_of(level, kPressureLevelWords)));
}

// All oom hooks of a request together have the deadline.
milliseconds time_for(const HookConfig& hook, const GuardConfig& config) {
  return hook.on == HookEvent::Oom ? std::min(hook.timeout, config.oom.deadline) : hook.timeout;
}

std::string status_in_words(const HookConfig& hook, int status) {
  std::string out = "exit status " + std::to_string(status);
  if (hook.on != HookEvent::Oom) return out + (status == 0 ? "" : ": a failure");
  if (status == 0) return out + ": it freed something, the request is tried again";
  if (status == kWait) return out + ": it frees in the background, the request waits";
  return out + ": the next hook's turn";
}

int report(const HookConfig& hook, const CommandResult& result) {
  int status = result.code;
  switch (result.outcome) {
    case CommandResult::Outcome::Exited:
      say("result", status_in_words(hook, result.code));
      break;
    case CommandResult::Outcome::Signaled:
      say("result", "ended by signal " + std::to_string(result.code) + ": a failure");
      status = kSignalled + result.code;
      break;
    case CommandResult::Outcome::TimedOut:
      say("result", "did not end in time, and got signal " + std::to_string(result.code) + ": a failure");
      status = kTimedOut;
      break;
    case CommandResult::Outcome::CannotStart:
      say("result", "cannot be started: " + errno_text(result.code));
      return result.code == ENOENT ? kNotFound : kNotExecutable;
  }
  say("took", std::to_string(result.duration.count()) + " ms");
  if (!result.output.empty()) {
    std::puts("output");
    std::fwrite(result.output.data(), 1, result.output.size(), stdout);
    if (result.output.back() != '\n') std::puts("");
  }
  return status;
}

int run_command_hook(const HookConfig& hook, const GuardConfig& config, PressureLevel level, bool dry_run) {
  const DeviceInfo device = example_device();
  const std::string log =
      config.log.target == LogTarget::File ? locate_log(config.log.path, LogSurroundings::of_this_process()).path : "";
  const auto variables = hook_variables(example_facts(config, hook, level, device), hook.name, 1, log);
  const milliseconds timeout = time_for(hook, config);
  say("runs", toml_list(hook.argv));
  say("timeout", format_duration(timeout) + (timeout < hook.timeout ? " (oom.deadline)" : ""));
  std::puts("is told");
  for (const auto& [name, value] : variables) std::printf("  %s=%s\n", name.c_str(), value.c_str());
  std::fflush(stdout);
  if (dry_run) return 0;

  std::vector<const char*> argv;
  for (const std::string& argument : hook.argv) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  const HookEnvironment inherited;
  const CommandEnvironment environment = inherited.with(variables);
  Command command;
  command.start({argv.data(), environment.pointers(), timeout}, nullptr, nullptr);
  return report(hook, command.take_result());
}

std::string target_in_words(SignalTarget target) {
  switch (target) {
    case SignalTarget::Self:
      return "the guarded process itself";
    case SignalTarget::Parent:
      return "the parent of the guarded process";
    case SignalTarget::Group:
      return "each process of the group";
  }
  return "";
}

bool is_harmless(int signal) {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

// nullopt: `pid` may get the signal.
std::optional<std::string> why_not_sent(const SignalAction& action, pid_t pid) {
  const auto process = look_at_process(pid);
  if (!process) return "there is no process " + std::to_string(pid);
  const SignalBits bit = signal_bit(action.number);
  const bool safe = !action.require_handler || is_harmless(action.number) || all_threads_block(pid, action.number) ||
                    ((process->caught | process->ignored) & bit) != 0;
  if (safe) return std::nullopt;
  return "process " + std::to_string(pid) + " has no handler for it, and it would end the process (require_handler)";
}

int run_signal_hook(const HookConfig& hook, PressureLevel level, const HookTestOptions& options) {
  const SignalAction& action = *hook.signal;
  say("sends", "signal " + std::to_string(action.number) + " with the value " +
                   std::to_string(static_cast<int>(level)) + " (" + std::string(word_of(level, kPressureLevelWords)) +
                   ") to " + target_in_words(action.target) +
                   (action.require_handler ? ", if that has a handler for it" : ""));
  if (!options.pid || options.dry_run) {
    say("result", "nothing was sent" + std::string(options.dry_run ? "" : "; --pid PID sends it to that process"));
    return 0;
  }
  if (const auto reason = why_not_sent(action, *options.pid)) {
    say("result", "not sent: " + *reason);
    return kNotSent;
  }
  sigval value{};
  value.sival_int = static_cast<int>(level);
  if (sigqueue(*options.pid, action.number, value) != 0) {
    say("result", "not sent: " + errno_text(errno));
    return kNotSent;
  }
  say("result", "sent to process " + std::to_string(*options.pid));
  return 0;
}

}  // namespace

int test_hook(const HookTestOptions& options) {
  const LoadResult loaded = load_config({environ}, system_paths());
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    std::fprintf(stderr, "vramguard: %s\n", to_string(diagnostic).c_str());
  if (!loaded.ok()) return kVramguardFailed;

  const HookConfig* hook = find_hook(loaded.config, options.name);
  if (hook == nullptr) {
    print_error(no_such_hook(loaded.config, options.name));
    return kVramguardFailed;
  }
  PressureLevel level = own_level(*hook);
  if (options.level) {
    const auto named = parse_value(KeyType::Choice, "none|low|medium|high|critical", *options.level);
    if (const auto* error = std::get_if<ValueError>(&named)) {
      print_error("--level: " + error->message);
      return kVramguardFailed;
    }
    level = choice<PressureLevel>(std::get<Value>(named), kPressureLevelWords);
  }
  if (options.pid && !hook->signal) {
    print_error("--pid: hook '" + hook->name + "' sends no signal");
    return kVramguardFailed;
  }
  if (!loaded.config.hooks_enabled) print_warning("hooks are switched off by the configuration");

  say("hook", hook->name);
  say("on", event_in_words(*hook, level));
  return hook->signal ? run_signal_hook(*hook, level, options)
                      : run_command_hook(*hook, loaded.config, level, options.dry_run);
}

void add_hook(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<HookTestOptions>();
  CLI::App* hook = app.add_subcommand("hook", "Try out a hook of the configuration");
  hook->require_subcommand(1);
  CLI::App* test = hook->add_subcommand("test", "Say what a hook would do, do it, and say what comes of it");
  test->add_option("NAME", options->name, "The hook's name in the configuration")->required();
  test->add_option("--level", options->level, "The level of pressure to tell it: none, low, medium, high, critical");
  test->add_option("--pid", options->pid, "The process that gets the signal of a signal hook; without it nobody does");
  test->add_flag("--dry-run", options->dry_run, "Only say what it would do");
  test->footer(
      "What the hook is told about memory is made up. The exit status is the hook's; 124 when it did not end in time,\n"
      "125 when vramguard failed.");
  test->callback([&chosen, options] { chosen = [options] { return test_hook(*options); }; });
}

}  // namespace vramguard
