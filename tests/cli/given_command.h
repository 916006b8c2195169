// What `vramguard run` gave its command, as the command found it.
#pragma once

#include "config/load_config.h"
#include "tests/cli/command_fixture.h"

#include <filesystem>
#include <string>
#include <vector>

namespace vramguard {

struct Given {
  Outcome outcome;
  std::string path;   // of its configuration
  LoadResult loaded;  // that, read alone
  std::string budgets() const {
    std::string out = format_size(loaded.config.budget);
    for (const DeviceBudget& device : loaded.config.device_budgets)
      out += "," + device.device + "=" + format_size(device.budget);
    return out;
  }
};

// `vramguard run OPTIONS...`, with a command that keeps a copy of the file.
inline Given run_with(const CommandFixture& fixture, std::vector<std::string> options) {
  std::filesystem::create_directories(fixture.path("home"));
  const std::string copy = fixture.path("home/copy-of-run.toml");
  options.insert(options.begin(), "run");
  options.insert(options.end(), {"sh", "-c", "echo $VRAMGUARD_CONFIG; cp \"$VRAMGUARD_CONFIG\" \"$0\"", copy});
  Given given;
  given.outcome = fixture.vramguard(options);
  given.path = given.outcome.out.substr(0, given.outcome.out.find('\n'));
  ConfigPaths paths;
  paths.only_file = copy;
  given.loaded = load_config({nullptr}, paths);
  return given;
}

}  // namespace vramguard
