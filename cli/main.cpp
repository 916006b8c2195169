// The program `vramguard`: reads the command line and hands over to the command that it names.

#include "cli/check_command.h"
#include "cli/exit_status.h"
#include "cli/hook_command.h"
#include "cli/library_path.h"
#include "cli/problem.h"
#include "cli/run_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace {

using namespace vramguard;

std::string version_text() {
  const std::string library = find_library();
  return std::string("vramguard ") + VRAMGUARD_VERSION + "\nlibrary " + (library.empty() ? "not found" : library);
}

// This CLI11 has no way to give a subcommand its own usage line but this.
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: vramguard run [-b SIZE] [--device GPU=SIZE]... [--policy P] [--sentinel SIZE] [--observe]\n"
           "                     [--on LEVEL=CMD]... [--on-oom CMD]... [--log PATH] [--] COMMAND [ARGUMENT]...\n";
  }
};

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a command under a budget of GPU memory");
  run->formatter(std::make_shared<RunFormatter>());
  run->add_option("-b,--budget", options.budget, "Budget per GPU: 8GiB, 80% of the card, unlimited")->type_name("SIZE");
  run->add_option("--device", options.devices,
                  "Budget for one GPU: cuda:0=8GiB, GPU-8f6e1c1a=4GiB, pci:0000:3b:00.0=50%")
      ->type_name("GPU=SIZE")
      ->allow_extra_args(false);
  run->add_option("--policy", options.policy,
                  "What becomes of a request that does not fit: fail, retry-after-free, wait-and-retry,\n"
                  "checkpoint-and-fail, spill")
      ->type_name("P");
  run->add_option("--sentinel", options.sentinel,
                  "Memory held so that neighbours cannot take it: 512MiB for emergencies, all, none")
      ->type_name("SIZE");
  run->add_flag("--observe", options.observe, "Record what would be refused, and refuse nothing");
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
      "The budget holds for each process: a command that starts four processes on a GPU can use four times as much.\n"
      "What follows COMMAND belongs to the command. vramguard becomes the command: same process, same exit status;\n"
      "125 when vramguard refuses to start it, 126 when it cannot be executed, 127 when it is not found.\n"
      "Without -b the budget of the configuration holds; 'vramguard check' shows it.");
  return run;
}

// `hook test`; the app that is parsed when it was asked for.
CLI::App* add_hook_test(CLI::App& app, HookTestOptions& options) {
  CLI::App* hook = app.add_subcommand("hook", "Try out a hook of the configuration");
  hook->require_subcommand(1);
  CLI::App* test = hook->add_subcommand("test", "Say what a hook would do, do it, and say what comes of it");
  test->add_option("NAME", options.name, "The hook's name in the configuration")->required();
  test->add_option("--level", options.level, "The level of pressure to tell it: none, low, medium, high, critical");
  test->add_option("--pid", options.pid, "The process that gets the signal of a signal hook; without it nobody does");
  test->add_flag("--dry-run", options.dry_run, "Only say what it would do");
  test->footer(
      "What the hook is told about memory is made up. The exit status is the hook's; 124 when it did not end in time,\n"
      "125 when vramguard failed.");
  return test;
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

int dispatch(int argc, char** argv) {
  CLI::App app("Keeps unmodified CUDA programs within a budget of GPU memory.", "vramguard");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("vramguard: error: ") + error.what() + "; see 'vramguard --help'\n";
  });

  RunOptions run_options;
  const CLI::App* run = add_run(app, run_options);
  if (argc > 1 && std::string(argv[1]) == "run") {
    const int command = find_command(argc, argv, *run);
    if (command < argc) {
      run_options.command.assign(argv + command, argv + argc);
      argc = command;
    }
    if (argc > 2 && std::string(argv[argc - 1]) == "--") --argc;
  }
  std::string file;
  CLI::App* check =
      app.add_subcommand("check", "Say what is wrong with the configuration, or every value and where it came from");
  check->add_option("FILE", file, "A file to read instead of the usual ones");
  HookTestOptions hook_options;
  const CLI::App* hook_test = add_hook_test(app, hook_options);
  CLI::App* version = app.add_subcommand("version", "Print the version and where the library is");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kVramguardFailed;
  }

  if (version->parsed()) {
    std::puts(version_text().c_str());
    return 0;
  }
  if (check->parsed()) return check_configuration(file);
  if (hook_test->parsed()) return test_hook(hook_options);

  if (run_options.command.empty()) {
    print_error("which command? see 'vramguard run --help'");
    return kVramguardFailed;
  }
  return run_command(run_options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const std::exception& error) {
    print_error(error.what());
    return kVramguardFailed;
  }
}
