#include "cli/doctor/checks.h"

#include "cli/program_search.h"
#include "core/state/state_reader.h"

#include <algorithm>
#include <cstdlib>

namespace vramguard {
namespace {

constexpr char kMendHook[] = "mend its command; 'vramguard hook test NAME' tries it out";

// The program that a shell's line begins with, where that is plainly a path; else "".
std::string path_in(const std::string& line) {
  if (!line.starts_with('/')) return "";
  const std::string word = line.substr(0, line.find_first_of(" \t\n;&|<>()"));
  return word.find_first_of("$`\"'\\*?[") == std::string::npos ? word : "";
}

void examine_hook(const HookConfig& hook, Diagnoses& all) {
  if (hook.argv.empty()) return;
  const char* path = std::getenv("PATH");
  const bool shell = hook.argv.size() == 3 && hook.argv[0] == "/bin/sh" && hook.argv[1] == "-c";
  const std::string program = shell ? path_in(hook.argv[2]) : hook.argv[0];
  if (program.empty()) return;
  const auto found = find_program(program, path != nullptr ? path : "/bin:/usr/bin");
  if (const auto* why = std::get_if<Problem>(&found))
    all.push_back(problem("hook", "'" + printable(hook.name) + "' cannot run: " + printable(why->message), kMendHook));
}

}  // namespace

Diagnoses examine_configuration(const LoadResult& loaded) {
  Diagnoses all;
  for (const Diagnostic& diagnostic : loaded.diagnostics) {
    const bool error = diagnostic.severity == Severity::Error;
    const bool hook = diagnostic.key == "hook";
    all.push_back({error || hook ? Finding::Problem : Finding::Hint, hook ? "hook" : "configuration",
                   printable(to_string(diagnostic)),
                   error ? "mend it: until then guarded programs do not start; 'vramguard check' says it all"
                         : "'vramguard check' shows what holds"});
  }
  const GuardConfig& config = loaded.config;
  if (!config.hooks.empty() && !config.hooks_enabled)
    all.push_back(
        hint("hook", "hooks are defined and switched off", "'vramguard check' says where hooks.enabled comes from"));
  for (const HookConfig& hook : config.hooks) examine_hook(hook, all);
  if (loaded.ok() && config.budget == Size{Unlimited{}} && config.device_budgets.empty())
    all.push_back(hint("configuration", "there is no budget: nothing is refused unless 'vramguard run -b' sets one",
                       "set budget in the configuration, or use -b"));
  if (all.empty())
    all.push_back(good("configuration", config.source.empty() ? "no file, defaults hold" : printable(config.source)));
  return all;
}

}  // namespace vramguard
