#include "cli/run_options.h"

#include "cli/exit_status.h"
#include "cli/problem.h"
#include "cli/run_command.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace vramguard {
namespace {

// This CLI11 has no way to give a subcommand its own usage line but this.
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: vramguard run [-b SIZE] [--device GPU=SIZE]... [--group NAME | --per-process] [--policy P]\n"
           "                     [--sentinel SIZE] [--observe] [--require] [--on LEVEL=CMD]... [--on-oom CMD]...\n"
           "                     [--log PATH] [--] COMMAND [ARGUMENT]...\n";
  }
};

CLI::App* add_options(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a command under a budget of GPU memory");
  run->formatter(std::make_shared<RunFormatter>());
  run->add_option("-b,--budget", options.budget, "Budget per GPU: 8GiB, 80% of the card, unlimited")->type_name("SIZE");
  run->add_option("--device", options.devices,
                  "Budget for one GPU: cuda:0=8GiB, GPU-8f6e1c1a=4GiB, pci:0000:3b:00.0=50%")
      ->type_name("GPU=SIZE")
      ->allow_extra_args(false);
  run->add_option("--group", options.group, "The group whose processes share the budget, instead of one of its own")
      ->type_name("NAME");
  run->add_flag("--per-process", options.per_process, "A budget for each process of the command, not one for all");
  run->add_option("--policy", options.policy,
                  "What becomes of a request that does not fit: fail, retry-after-free, wait-and-retry,\n"
                  "checkpoint-and-fail, spill")
      ->type_name("P");
  run->add_option("--sentinel", options.sentinel,
                  "Memory held so that neighbours cannot take it: 512MiB for emergencies, all, none")
      ->type_name("SIZE");
  run->add_flag("--observe", options.observe, "Record what would be refused, and refuse nothing");
  run->add_flag("--require", options.require,
                "Stay as the command's parent, and end with 125 when a process of it used a GPU unguarded");
  run->add_option("--on", options.hooks.on, "Run CMD when the pressure gets to LEVEL: low, medium, high, critical")
      ->type_name("LEVEL=CMD")
      ->allow_extra_args(false);
  run->add_option("--on-oom", options.hooks.on_oom,
                  "Run CMD when a request does not fit; exit status 0: try again, 75: wait, else: next")
      ->type_name("CMD")
      ->allow_extra_args(false);
  run->add_option("--log", options.log, "Where the pressure log goes; %p stands for the process, %u user, %h host")
      ->type_name("PATH");
  run->footer(
      "The command and its children share one budget per GPU; with --per-process each process has its own. A group "
      "that\n"
      "VRAMGUARD_GROUP names is kept. What follows COMMAND belongs to the command. vramguard becomes the command: "
      "same\n"
      "process, same exit status (with --require: its parent, and the status is 128 + n when signal n ended it);\n"
      "125 when vramguard refuses to start it, 126 when it cannot be executed, 127 when it is not found.\n"
      "Without -b the budget of the configuration holds; 'vramguard check' shows it.");
  return run;
}

// Where COMMAND begins in the arguments of `run`: after "--", or at the first that is neither an option nor the value
// of one. Everything from there on is the command's own, whatever it looks like, and the parser never sees it.
int find_command(int argc, char** argv, const CLI::App& run) {
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") return i + 1;
    if (!argument.starts_with('-')) return i;
    const CLI::Option* option = run.get_option_no_throw(argument);
    if (option != nullptr && option->get_items_expected_max() > 0) ++i;
  }
  return argc;
}

}  // namespace

int add_run(CLI::App& app, Action& chosen, int argc, char** argv) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* run = add_options(app, *options);
  run->callback([&chosen, options] {
    chosen = [options] {
      if (!options->command.empty()) return run_command(*options);
      print_error("which command? see 'vramguard run --help'");
      return kVramguardFailed;
    };
  });
  if (argc < 2 || std::string(argv[1]) != "run") return argc;

  const int command = find_command(argc, argv, *run);
  if (command < argc) options->command.assign(argv + command, argv + argc);
  return command > 2 && std::string(argv[command - 1]) == "--" ? command - 1 : command;
}

}  // namespace vramguard
