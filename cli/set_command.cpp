#include "cli/set_command.h"

#include "cli/exit_status.h"
#include "cli/problem.h"
#include "cli/process_finder.h"
#include "cli/set_report.h"
#include "cli/set_targets.h"
#include "config/budget_list.h"
#include "config/key_names.h"
#include "config/value.h"

#include "core/device_name.h"
#include "core/state/control_client.h"
#include "core/state/group_file.h"
#include "core/state/state_text.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace vramguard {
namespace {

// What was asked for, understood.
struct Change {
  std::optional<Size> budget;
  std::string policy;
  bool reload = false;
  std::optional<DeviceName> device;
  bool of_group = false;
};

std::variant<Change, std::string> understand(const SetOptions& options) {
  if (options.pid.has_value() == options.group.has_value())
    return "whose? name one process with -p, or a group with -g";
  if (!options.budget && !options.policy && !options.reload) return "what? give --budget, --policy or --reload";
  if (options.device && !options.budget) return "--device goes with --budget";
  Change change;
  change.reload = options.reload;
  change.of_group = options.group.has_value();
  if (options.budget) {
    auto size = parse_size(*options.budget);
    if (auto* error = std::get_if<SizeError>(&size)) return "--budget: " + error->message;
    change.budget = std::get<Size>(size);
  }
  if (options.policy) {
    const Key* key = find_key(all_keys(), "", "oom_policy");
    const auto value = parse_value(key->type, key->words, *options.policy);
    if (const auto* error = std::get_if<ValueError>(&value)) return "--policy: " + error->message;
    change.policy = *options.policy;
  }
  if (options.device) {
    change.device = parse_device_name(*options.device);
    if (!change.device) return "--device: " + bad_device_name(*options.device);
  }
  return change;
}

Bytes bytes_of(const Size& size, const DeviceState& device) {
  if (const auto* bytes = std::get_if<Bytes>(&size)) return *bytes;
  if (const auto* share = std::get_if<Percent>(&size))
    return static_cast<Bytes>(static_cast<double>(device.total_bytes) * share->value / 100);
  return kStateUnknown;
}

// "" and the new state, or why the process did not do it.
std::string ask(SeenProcess& process, const ControlRequest& request) {
  if (geteuid() != process.owner && geteuid() != 0)
    return "belongs to " + user_name(process.owner) + ": only that user or root can change it";
  const std::string folder = process.path.substr(0, process.path.rfind('/') + 1);
  const std::string file = state_text(process.state.control_file);
  if (file.empty() || file.find('/') != std::string::npos) return "its file names no place to ask it";
  const auto asked = ask_process(folder + file, process.owner, request);
  if (const auto* problem = std::get_if<StateProblem>(&asked)) return printable(problem->message);
  auto read = read_process_state(process.path, process.owner);
  if (auto* now = std::get_if<SeenProcess>(&read)) process.state = now->state;
  const auto& answer = std::get<ControlAnswer>(asked);
  if (answer.done) return "";
  return answer.text.empty() ? "did not do it" : printable(answer.text);
}

SetResult result_for(const SeenProcess& process, std::string what) {
  SetResult result;
  result.pid = process.pid.value_or(process.state.pid);
  result.process = name_of(process);
  result.what = std::move(what);
  return result;
}

void set_budgets(SeenProcess& process, const Change& change, std::vector<SetResult>& results) {
  bool any = false;
  for (std::uint32_t i = 0; i < process.state.device_count; ++i) {
    const DeviceState before = process.state.devices[i];
    const std::string uuid = state_text(before.uuid);
    if (change.device && !names_device(*change.device, uuid, state_text(before.pci_bus_id), before.ordinal)) continue;
    any = true;
    ControlRequest request;
    request.what = kAskBudget;
    request.budget_bytes = bytes_of(*change.budget, before);
    request.device = uuid;
    SetResult result = result_for(process, "budget");
    result.uuid = printable(uuid);
    result.ordinal = before.ordinal;
    if (change.of_group) {
      const std::string folder = process.path.substr(0, process.path.rfind('/'));
      auto problem = set_group_budget(folder, state_text(process.state.group), uuid, request.budget_bytes);
      if (problem) result.message = printable(problem->message);
    }
    if (std::string problem = ask(process, request); !problem.empty()) result.message = std::move(problem);
    result.done = result.message.empty();
    const DeviceState& now = process.state.devices[i];
    result.old_bytes = before.budget_bytes;
    result.new_bytes = now.budget_bytes;
    result.used_bytes = now.group_used_bytes;
    results.push_back(std::move(result));
  }
  if (any) return;
  SetResult nothing = result_for(process, "budget");
  nothing.message = change.device ? "does not see that device" : "has no device yet";
  results.push_back(std::move(nothing));
}

void set_all(SeenProcess& process, const Change& change, std::vector<SetResult>& results) {
  if (change.reload) {
    SetResult result = result_for(process, "reload");
    ControlRequest request;
    request.what = kAskReload;
    result.message = ask(process, request);
    result.done = result.message.empty();
    results.push_back(std::move(result));
  }
  if (!change.policy.empty()) {
    SetResult result = result_for(process, "policy");
    ControlRequest request;
    request.what = kAskPolicy;
    request.policy = change.policy;
    result.old_policy = printable(state_text(process.state.policy));
    result.message = ask(process, request);
    result.done = result.message.empty();
    result.policy = printable(state_text(process.state.policy));
    results.push_back(std::move(result));
  }
  if (change.budget) set_budgets(process, change, results);
}

std::variant<std::vector<SeenProcess>, std::string> find_targets(const SetOptions& options) {
  const char* named = std::getenv("VRAMGUARD_STATE_DIR");
  const SeenProcesses seen = read_states(all_state_folders(named != nullptr ? named : ""));
  if (options.group) return find_group(seen.processes, *options.group);
  auto found = find_by_pid(seen.processes, *options.pid);
  if (auto* why = std::get_if<std::string>(&found)) return std::move(*why);
  return std::vector<SeenProcess>{std::get<SeenProcess>(std::move(found))};
}

}  // namespace

int set_limits(const SetOptions& options) {
  const auto understood = understand(options);
  if (const auto* objection = std::get_if<std::string>(&understood)) {
    print_error(*objection);
    return kVramguardFailed;
  }
  auto targets = find_targets(options);
  if (const auto* why = std::get_if<std::string>(&targets)) {
    print_error(*why);
    return 1;
  }

  std::vector<SetResult> results;
  for (SeenProcess& process : std::get<std::vector<SeenProcess>>(targets))
    set_all(process, std::get<Change>(understood), results);
  int status = 0;
  for (const SetResult& result : results) {
    if (!result.message.empty()) print_error(result.process + " " + result.message);
    if (!result.done) status = 1;
    const std::string text = options.json ? "" : in_words(result);
    if (!text.empty()) std::printf("%s\n", text.c_str());
  }
  if (options.json) std::fputs(set_json(results).c_str(), stdout);
  return status;
}

void add_set(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<SetOptions>();
  CLI::App* set = app.add_subcommand("set", "Change the limits of a guarded process or group while it runs");
  set->add_option("-p,--pid", options->pid, "The process")->type_name("PID");
  set->add_option("-g,--group", options->group, "All members of a group, and those that will join it")
      ->type_name("GROUP");
  set->add_option("--device", options->device, "Only on this GPU: cuda:0, GPU-8f6e1c1a, pci:0000:3b:00.0")
      ->type_name("GPU");
  set->add_option("--budget", options->budget, "The new budget per GPU: 8GiB, 80% of the card, unlimited")
      ->type_name("SIZE");
  set->add_option("--policy", options->policy,
                  "What becomes of a request that does not fit: fail, retry-after-free, wait-and-retry,\n"
                  "checkpoint-and-fail, spill")
      ->type_name("P");
  set->add_flag("--reload", options->reload, "Read the configuration files again; a wrong one changes nothing");
  set->add_flag("--json", options->json, "For programs: one object as docs/schema/set.json describes it");
  set->footer(
      "Holds from the next request on. A budget below what is in use takes nothing away: new requests are refused "
      "until\n"
      "it is under it. Exit status: 0 all was done, 1 something was not, 125 wrong use.");
  set->callback([&chosen, options] { chosen = [options] { return set_limits(*options); }; });
}

}  // namespace vramguard
