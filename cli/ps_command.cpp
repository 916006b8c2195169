#include "cli/ps_command.h"

#include "cli/exit_status.h"
#include "cli/problem.h"
#include "cli/process_table.h"
#include "cli/table_json.h"
#include "cli/table_text.h"
#include "cli/terminal.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace vramguard {
namespace {

constexpr std::size_t kMostWarnings = 3;

// What the table does not show, on stderr.
void warn(const ProcessTable& table) {
  if (table.nvml == NvmlAnswer::Stuck)
    print_warning("NVML does not answer: processes that are not guarded are not shown");
  if (table.nvml == NvmlAnswer::Failed)
    print_warning("NVML fails: processes that are not guarded are not shown; 'nvidia-smi' may say why");
  std::size_t shown = 0;
  for (const UnreadableState& file : table.unreadable) {
    if (++shown > kMostWarnings) {
      print_warning(std::to_string(table.unreadable.size() - kMostWarnings) + " more files tell nothing");
      break;
    }
    print_warning(file.path + ": " + file.why);
  }
}

}  // namespace

std::string processes_text(const ProcessTable& table, const TextStyle& style) {
  std::string text;
  if (!table.processes.empty()) {
    for (const std::string& line : table_lines(table, {}, style)) text += line + "\n";
  }
  const bool guarded = std::any_of(table.processes.begin(), table.processes.end(),
                                   [](const TableProcess& process) { return process.guarded == Guarded::Yes; });
  if (!guarded) text += "No process is guarded. Start one under a budget: vramguard run -b 8GiB COMMAND\n";
  return text;
}

int print_processes(const PsOptions& options) {
  NvmlObserver nvml;
  const ProcessTable table = look_around(nvml);
  const std::string text = options.json ? table_json(table) : processes_text(table, output_style());
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!options.json) warn(table);
  return written ? 0 : kVramguardFailed;
}

void add_ps(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<PsOptions>();
  CLI::App* ps = app.add_subcommand("ps", "Show who uses the GPUs, and within what budget; also without a command");
  ps->add_flag("--json", options->json, "For programs: one object as docs/schema/ps.json describes it");
  ps->footer(
      "LEVEL is the pressure of a guarded process; 'unguarded' for one that uses a GPU without vramguard, 'unknown'\n"
      "where that cannot be told. A PID in brackets is that of a process in another container, as it sees itself.");
  ps->callback([&chosen, options] { chosen = [options] { return print_processes(*options); }; });
}

}  // namespace vramguard
