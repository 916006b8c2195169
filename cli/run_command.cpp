#include "cli/run_command.h"

#include "cli/child_environment.h"
#include "cli/exit_status.h"
#include "cli/handover.h"
#include "cli/library_path.h"
#include "cli/loader_check.h"
#include "cli/preflight.h"
#include "cli/problem.h"
#include "cli/run_line.h"
#include "cli/run_settings.h"
#include "cli/staying_parent.h"
#include "config/load_config.h"
#include "core/errno_text.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace vramguard {
namespace {

Problem failed(std::string message) { return {kVramguardFailed, std::move(message)}; }

std::optional<Problem> check_options(const RunOptions& options, const ChildEnvironment& environment) {
  if (options.group && options.per_process) return failed("--group and --per-process: one of them");
  if (options.require && environment.get("VRAMGUARD") == "0")
    return failed("--require: VRAMGUARD=0 is set, and nothing would be guarded");
  return std::nullopt;
}

std::optional<Problem> prepare(const RunOptions& options, ChildEnvironment& environment) {
  if (auto problem = check_options(options, environment)) return problem;
  const std::string library = find_library();
  if (library.empty())
    return failed("libvramguard.so is neither in " + own_folder() + " nor in the lib folder beside it");
  if (auto problem = check_library(library)) return problem;
  if (options.require) {
    if (auto problem = check_loader(library)) return problem;
  }
  const auto library_kind = read_elf_file(library);
  const std::string path = environment.get("PATH");
  if (auto problem = check_command(options.command.front(), path.empty() ? "/bin:/usr/bin" : path, *library_kind))
    return problem;
  if (auto problem = apply_settings(options, environment)) return problem;
  environment.set("LD_PRELOAD", with_preload(environment.get("LD_PRELOAD"), library));
  environment.set("ASAN_OPTIONS", with_asan_option(environment.get("ASAN_OPTIONS")));
  return std::nullopt;
}

int become(const std::vector<std::string>& command, ChildEnvironment& environment) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvpe(arguments[0], arguments.data(), const_cast<char* const*>(environment.pointers()));
  const int error = errno;
  print_error("'" + command.front() + "' cannot be executed: " + errno_text(error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

int fail(const Problem& problem) {
  print_error(problem.message);
  return problem.exit_status;
}

}  // namespace

int run_command(const RunOptions& options) {
  ChildEnvironment environment(environ);
  if (const auto problem = prepare(options, environment)) return fail(*problem);
  LoadResult loaded = load_config({environment.pointers()}, system_paths());
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    std::fprintf(stderr, "vramguard: %s\n", to_string(diagnostic).c_str());
  if (!loaded.ok()) return kVramguardFailed;
  if (const auto problem = add_hooks(options.hooks, loaded)) return fail(*problem);
  if (environment.get("VRAMGUARD") == "0") {
    print_warning("VRAMGUARD=0 is set: the command runs without a budget");
    return become(options.command, environment);
  }
  const Handover handover = hand_over(options, loaded, environment);
  if (handover.problem) return fail(*handover.problem);
  const bool with_lines = lines_are_wanted(loaded.config);
  if (with_lines) std::fprintf(stderr, "vramguard: %s\n", line_before(loaded.config, handover).c_str());
  return options.require ? stay_as_parent(options.command, environment, handover, with_lines)
                         : become(options.command, environment);
}

}  // namespace vramguard
