#include "cli/check_command.h"

#include "cli/exit_status.h"
#include "config/load_config.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace vramguard {
namespace {

constexpr std::size_t kWidestColumn = 40;  // a longer command pushes its own origin aside, not everybody's

// On one line, whatever is in it.
std::string shown(const EffectiveValue& value) {
  if (value.text.empty()) return "\"\"";
  std::string out;
  for (const char c : value.text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t spaces = text.size() < width ? width - text.size() : 0;
  return std::move(text) + std::string(spaces + 2, ' ');
}

}  // namespace

std::string format_values(const LoadResult& loaded) {
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const EffectiveValue& value : loaded.values) {
    key_width = std::max(key_width, value.key.size());
    value_width = std::max(value_width, std::min(shown(value).size(), kWidestColumn));
  }
  std::string out;
  for (const EffectiveValue& value : loaded.values) {
    out += padded(value.key, key_width) + padded(shown(value), value_width) + to_string(value.place) + "\n";
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

void add_check(CLI::App& app, Action& chosen) {
  const auto file = std::make_shared<std::string>();
  CLI::App* check =
      app.add_subcommand("check", "Say what is wrong with the configuration, or every value and where it came from");
  check->add_option("FILE", *file, "A file to read instead of the usual ones");
  check->callback([&chosen, file] { chosen = [file] { return check_configuration(*file); }; });
}

}  // namespace vramguard
