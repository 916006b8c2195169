#include "cli/run_settings.h"

#include "cli/exit_status.h"
#include "config/budget_list.h"
#include "config/key_names.h"
#include "config/value.h"
#include "core/errno_text.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
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
  const std::string objection = key->objection == nullptr ? "" : key->objection(std::get<Value>(value));
  if (!objection.empty()) return usage(option + ": '" + text + "' " + objection);
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

}  // namespace

std::optional<Problem> apply_settings(const RunOptions& options, ChildEnvironment& environment) {
  if (auto problem = apply_budgets(options, environment)) return problem;
  if (options.policy) {
    if (auto problem = apply_key("--policy", "oom_policy", *options.policy, environment)) return problem;
  }
  if (options.sentinel) {
    if (auto problem = apply_key("--sentinel", "sentinel", *options.sentinel, environment)) return problem;
  }
  if (options.group) {
    if (options.group->empty()) return usage("--group: the name is empty; --per-process is without a group");
    if (auto problem = apply_key("--group", "group", *options.group, environment)) return problem;
  }
  if (options.per_process) environment.set("VRAMGUARD_GROUP", "");
  if (options.observe) environment.set("VRAMGUARD_MODE", "observe");
  if (options.log) return apply_log(*options.log, environment);
  return std::nullopt;
}

}  // namespace vramguard
