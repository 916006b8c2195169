// The program `vramguard`: reads the command line and hands over to the command that it names.

#include "cli/check_command.h"
#include "cli/command_line.h"
#include "cli/doctor_command.h"
#include "cli/exit_status.h"
#include "cli/hook_command.h"
#include "cli/library_path.h"
#include "cli/log_command.h"
#include "cli/problem.h"
#include "cli/ps_command.h"
#include "cli/run_options.h"
#include "cli/set_command.h"
#include "cli/top_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace {

using namespace vramguard;

std::string version_text() {
  const std::string library = find_library();
  return std::string("vramguard ") + VRAMGUARD_VERSION + "\nlibrary " + (library.empty() ? "not found" : library);
}

int print_version() {
  std::puts(version_text().c_str());
  return 0;
}

int dispatch(int argc, char** argv) {
  CLI::App app("Keeps unmodified CUDA programs within a budget of GPU memory.", "vramguard");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", version_text());
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("vramguard: error: ") + error.what() + "; see 'vramguard --help'\n";
  });

  Action chosen = [] { return print_processes({}); };
  const int parsed = add_run(app, chosen, argc, argv);
  add_ps(app, chosen);
  add_top(app, chosen);
  add_check(app, chosen);
  add_hook(app, chosen);
  add_log(app, chosen);
  add_set(app, chosen);
  add_doctor(app, chosen);
  app.add_subcommand("version", "Print the version and where the library is")->callback([&] {
    chosen = print_version;
  });

  try {
    app.parse(parsed, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kVramguardFailed;
  }
  return chosen();
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
