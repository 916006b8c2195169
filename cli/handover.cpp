#include "cli/handover.h"

#include "cli/exit_status.h"
#include "cli/run_file.h"
#include "cli/stale_runs.h"
#include "config/keys.h"
#include "config/write_config.h"
#include "core/state/group_file.h"
#include "core/state/process_identity.h"
#include "core/state/run_name.h"
#include "core/state/state_folder.h"
#include "core/utf8.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace vramguard {
namespace {

Problem failed(std::string message) { return {kVramguardFailed, std::move(message)}; }

// A budget of a variable goes before a file's more precise name for the same GPU; in one file it would not.
bool sources_differ(const GuardConfig& config) {
  const auto& budgets = config.device_budgets;
  return std::any_of(budgets.begin(), budgets.end(),
                     [&](const DeviceBudget& budget) { return budget.strength != budgets.front().strength; });
}

void remove_merged(const GuardConfig& config, bool log_is_text, ChildEnvironment& environment) {
  for (const Key& key : all_keys()) {
    const bool stays = key.store == nullptr || (key.name == "budget" && sources_differ(config)) ||
                       (key.variable == "VRAMGUARD_LOG" && !log_is_text);
    if (!key.variable.empty() && !stays) environment.remove(key.variable);
  }
}

// The group that is there already must be where the members will look for it.
std::optional<Problem> settle_group(const std::string& run, const std::string& folder, Handover& handover) {
  if (!handover.group_was_there) {
    handover.group = run;
    if (auto problem = make_group(folder, run)) return failed(std::move(problem->message));
  } else if (handover.group.starts_with(kRunGroupPrefix) &&
             access(group_path(folder, handover.group).c_str(), F_OK) != 0) {
    return failed("the group " + handover.group + " of another 'vramguard run' is not in " + folder +
                  "; keep its VRAMGUARD_STATE_DIR, or unset VRAMGUARD_GROUP for a group of its own");
  }
  return std::nullopt;
}

// Whether the command will run the hooks that it finds in the file.
std::optional<Problem> check_trust(const std::string& file) {
  ConfigPaths paths = system_paths();
  paths.only_file = file;
  for (const Diagnostic& diagnostic : load_config({nullptr}, paths).diagnostics) {
    if (diagnostic.place.file == file)
      return failed("the hooks would be ignored (" + diagnostic.message +
                    "); name another folder in VRAMGUARD_STATE_DIR");
  }
  return std::nullopt;
}

std::optional<Problem> write_file(const std::string& run, const GuardConfig& config, const std::string& folder,
                                  ChildEnvironment& environment) {
  const bool log_is_text = is_utf8(config.log.path);
  GuardConfig written = config;
  if (!log_is_text) written.log.path.clear();
  auto file = write_run_file(folder, run, "# Written by 'vramguard run' for one command.\n" + write_config(written));
  if (auto* problem = std::get_if<Problem>(&file)) return std::move(*problem);
  const auto& path = std::get<std::string>(file);
  if (auto problem = check_trust(path)) return problem;
  remove_merged(config, log_is_text, environment);
  environment.set("VRAMGUARD_CONFIG", path);
  environment.set("VRAMGUARD_STATE_DIR", folder);
  environment.set("VRAMGUARD_GROUP", config.group);
  return std::nullopt;
}

}  // namespace

Handover hand_over(const RunOptions& options, LoadResult& loaded, ChildEnvironment& environment) {
  Handover handover;
  handover.group = options.per_process ? "" : loaded.config.group;
  handover.group_was_there = !handover.group.empty();
  auto opened = open_state_folder(environment.get("VRAMGUARD_STATE_DIR"));
  if (auto* problem = std::get_if<StateProblem>(&opened)) {
    const bool needed = !options.per_process || options.require || !options.hooks.empty();
    if (needed) handover.problem = failed(problem->message + (options.per_process ? "" : ", or use --per-process"));
    return handover;
  }
  handover.folder = std::get<std::string>(opened);
  remove_stale_runs(handover.folder);
  const std::string run = run_name(identity_of_this_process());
  if (!options.per_process) handover.problem = settle_group(run, handover.folder, handover);
  loaded.config.group = handover.group;
  if (!handover.problem) handover.problem = write_file(run, loaded.config, handover.folder, environment);
  return handover;
}

}  // namespace vramguard
