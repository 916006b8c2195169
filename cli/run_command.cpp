#include "cli/run_command.h"

#include "cli/child_environment.h"
#include "cli/exit_status.h"
#include "cli/library_path.h"
#include "cli/preflight.h"
#include "cli/problem.h"
#include "config/budget_list.h"
#include "core/errno_text.h"
#include "config/key_names.h"
#include "config/load_config.h"

#include "core/log_path.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <variant>

namespace vramguard {
namespace {

Problem usage(std::string message) { return {kVramguardFailed, std::move(message)}; }

// VRAMGUARD_BUDGET with the options on top: -b replaces all of it, --device adds to it or replaces its own GPU's.
std::optional<Problem> apply_budgets(const RunOptions& options, ChildEnvironment& environment) {
  if (!options.budget && options.devices.empty()) return std::nullopt;
  BudgetList list;
  const std::string inherited = environment.get("VRAMGUARD_BUDGET");
  if (options.budget) {
    auto size = parse_size(*options.budget);
    if (const auto* error = std::get_if<SizeError>(&size)) return usage("-b: " + error->message);
    list.general = std::get<Size>(size);
    list.general_text = *options.budget;
  } else if (!inherited.empty()) {
    auto parsed = parse_budget_list(inherited);
    if (const auto* error = std::get_if<std::string>(&parsed)) return usage("VRAMGUARD_BUDGET: " + *error);
    list = std::get<BudgetList>(std::move(parsed));
  }
  for (const std::string& device : options.devices) {
    auto named = parse_named_budget(device);
    if (const auto* error = std::get_if<std::string>(&named)) return usage("--device: " + *error);
    set_named(list, std::get<NamedBudget>(std::move(named)));
  }
  environment.set("VRAMGUARD_BUDGET", format_budget_list(list));
  return std::nullopt;
}

// The variable of a key of the top level, with the option's value.
std::optional<Problem> apply_key(const std::string& option, std::string_view name, const std::string& text,
                                 ChildEnvironment& environment) {
  const Key* key = find_key(all_keys(), "", name);
  const auto value = parse_value(key->type, key->words, text);
  if (const auto* error = std::get_if<ValueError>(&value)) return usage(option + ": " + error->message);
  environment.set(key->variable, text);
  return std::nullopt;
}

// Absolute, since the command may change its folder; a '%' in the folder's own name is no %p.
std::optional<Problem> apply_log(const std::string& log, ChildEnvironment& environment) {
  if (log.empty()) return usage("--log: the path is empty");
  if (log.starts_with('/')) {
    environment.set("VRAMGUARD_LOG", log);
    return std::nullopt;
  }
  char* folder = getcwd(nullptr, 0);
  if (folder == nullptr)
    return usage("--log: the current folder is unknown (" + errno_text(errno) + "); give an absolute path");
  std::string absolute;
  for (const char* c = folder; *c != '\0'; ++c) absolute += *c == '%' ? std::string("%%") : std::string(1, *c);
  std::free(folder);
  environment.set("VRAMGUARD_LOG", absolute + (absolute.ends_with('/') ? "" : "/") + log);
  return std::nullopt;
}

// False, after printing why, when the command would start with a wrong configuration.
bool configuration_is_good(const RunOptions& options, const LoadResult& loaded, const ChildEnvironment& environment) {
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    std::fprintf(stderr, "vramguard: %s\n", to_string(diagnostic).c_str());
  if (!loaded.ok()) return false;
  if (options.hooks.empty()) return true;
  if (!loaded.config.hooks_enabled) {
    print_error("--on and --on-oom: hooks are switched off by the configuration; 'vramguard check' says where");
    return false;
  }
  const bool ignored =
      std::any_of(loaded.diagnostics.begin(), loaded.diagnostics.end(), [&](const Diagnostic& diagnostic) {
        return diagnostic.key == "hook" && diagnostic.place.file == environment.get("VRAMGUARD_CONFIG");
      });
  if (ignored) print_error("--on and --on-oom: the hooks would be ignored; name another folder in VRAMGUARD_STATE_DIR");
  return !ignored;
}

std::string budgets_in_words(const GuardConfig& config) {
  const bool unlimited = config.budget == Size{Unlimited{}};
  const std::string observed = config.mode == Mode::Observe ? ", observed only: nothing is refused" : "";
  if (unlimited && config.device_budgets.empty()) return "no budget, nothing is refused";
  std::string out = "budget " + format_size(config.budget) + " per GPU and process";
  for (const DeviceBudget& device : config.device_budgets)
    out += ", " + device.device + " " + format_size(device.budget);
  return out + observed;
}

// One line for a person who watches; nothing for a pipe or a log file.
void say_what_happens(const GuardConfig& config) {
  if (config.quiet || isatty(STDERR_FILENO) == 0) return;
  std::string watch;
  if (config.log.target == LogTarget::File) {
    const LogLocation log = locate_log(config.log.path, LogSurroundings::of_this_process());
    if (!log.path.empty()) watch = "; watch it: tail -F " + log.path;
  }
  std::fprintf(stderr, "vramguard: %s%s; switch off: VRAMGUARD=0\n", budgets_in_words(config).c_str(), watch.c_str());
}

std::optional<Problem> prepare(const RunOptions& options, ChildEnvironment& environment) {
  const std::string library = find_library();
  if (library.empty())
    return usage("libvramguard.so is neither in " + own_folder() + " nor in the lib folder beside it");
  if (auto problem = check_library(library)) return problem;
  const auto library_kind = read_elf_file(library);
  const std::string path = environment.get("PATH");
  if (auto problem = check_command(options.command.front(), path.empty() ? "/bin:/usr/bin" : path, *library_kind))
    return problem;
  if (auto problem = apply_budgets(options, environment)) return problem;
  if (options.policy) {
    if (auto problem = apply_key("--policy", "oom_policy", *options.policy, environment)) return problem;
  }
  if (options.sentinel) {
    if (auto problem = apply_key("--sentinel", "sentinel", *options.sentinel, environment)) return problem;
  }
  if (options.observe) environment.set("VRAMGUARD_MODE", "observe");
  if (options.log) {
    if (auto problem = apply_log(*options.log, environment)) return problem;
  }
  if (!options.hooks.empty()) {
    if (auto problem = apply_hooks(options.hooks, environment)) return problem;
  }
  environment.set("LD_PRELOAD", with_preload(environment.get("LD_PRELOAD"), library));
  environment.set("ASAN_OPTIONS", with_asan_option(environment.get("ASAN_OPTIONS")));
  return std::nullopt;
}

}  // namespace

int run_command(const RunOptions& options) {
  ChildEnvironment environment(environ);
  if (const auto problem = prepare(options, environment)) {
    print_error(problem->message);
    return problem->exit_status;
  }
  const LoadResult loaded = load_config({environment.pointers()}, system_paths());
  if (!configuration_is_good(options, loaded, environment)) return kVramguardFailed;
  if (environment.get("VRAMGUARD") == "0") {
    print_warning("VRAMGUARD=0 is set: the command runs without a budget");
  } else {
    say_what_happens(loaded.config);
  }

  std::vector<char*> arguments;
  for (const std::string& argument : options.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvpe(arguments[0], arguments.data(), const_cast<char* const*>(environment.pointers()));
  const int error = errno;
  print_error("'" + options.command.front() + "' cannot be executed: " + errno_text(error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace vramguard
