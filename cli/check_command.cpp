#include "cli/check_command.h"

#include "cli/exit_status.h"
#include "config/load_config.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace vramguard {

std::string format_values(const LoadResult& loaded) {
  const auto shown = [](const EffectiveValue& value) { return value.text.empty() ? std::string("\"\"") : value.text; };
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const EffectiveValue& value : loaded.values) {
    key_width = std::max(key_width, value.key.size());
    value_width = std::max(value_width, shown(value).size());
  }
  std::string out;
  for (const EffectiveValue& value : loaded.values) {
    const std::string text = shown(value);
    out += value.key + std::string(key_width - value.key.size() + 2, ' ');
    out += text + std::string(value_width - text.size() + 2, ' ') + to_string(value.place) + "\n";
  }
  return out;
}

int check_configuration(const std::string& file) {
  ConfigPaths paths = system_paths();
  paths.only_file = file;
  const LoadResult loaded = load_config({environ}, paths);
  for (const Diagnostic& diagnostic : loaded.diagnostics) std::fprintf(stderr, "%s\n", to_string(diagnostic).c_str());
  if (!loaded.ok()) return kVramguardFailed;
  std::fputs(format_values(loaded).c_str(), stdout);
  return 0;
}

}  // namespace vramguard
