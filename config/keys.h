// Every key of the configuration in one table: it drives the files, the environment, `vramguard check` and the tests of
// the documentation.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/value.h"
#include "core/guard_config.h"

namespace vramguard {

// A row of the table. Never changes.
struct Key {
  std::string_view section;  // "" for the top level
  std::string_view name;
  KeyType type;
  std::string_view default_text;              // as it stands in config/vramguard.toml, without quotes
  std::string_view words;                     // see parse_value
  std::string_view variable;                  // the environment variable that sets it, "" if none does
  bool runs_commands;                         // refused in a file that somebody else could have written
  void (*store)(GuardConfig&, const Value&);  // null: it is stored elsewhere
  // What is wrong with a value of the right type ("is no time at all; ..."), "" if nothing is; null: any will do.
  std::string (*objection)(const Value&) = nullptr;
};

std::span<const Key> all_keys() noexcept;    // of a file, without the three tables below
std::span<const Key> gpu_keys() noexcept;    // of a [gpu."NAME"]
std::span<const Key> hook_keys() noexcept;   // of a [[hook]]
std::span<const Key> limit_keys() noexcept;  // of limits.toml

// "pressure.low"
std::string full_name(const Key& key);

// Environment variables that are not the value of a key: the switches, and where the files are.
std::span<const std::string_view> other_variables() noexcept;

}  // namespace vramguard
