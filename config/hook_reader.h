// One [[hook]] table -> HookConfig, with everything that is wrong with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "config/toml_document.h"

namespace vramguard {

// A plain value.
struct ReadHook {
  HookSetting setting;
  bool good = true;  // nothing is wrong with it
};

// Belongs to one thread; reads once.
class HookReader {
 public:
  HookReader(const TomlValue& table, const std::string& path, Settings& settings)
      : table_(table), path_(path), settings_(settings) {}

  ReadHook read();

 private:
  void read_member(const TomlMember& member);
  void store(const Key& key, const TomlMember& member, const std::string& text);
  void store_signal(const TomlMember& member, const std::string& text);
  void store_command(const TomlMember& member, std::vector<std::string> argv);
  void check_event();
  void check_action();
  const TomlMember* find(std::string_view key) const;
  Place place(TomlPosition at) const { return {path_, at.line, at.column, ""}; }
  void error(TomlPosition at, std::string_view key, std::string message, std::string suggestion = "");

  const TomlValue& table_;
  const std::string& path_;
  Settings& settings_;
  ReadHook read_;
  std::optional<HookEvent> event_;
  SignalAction signal_;
};

}  // namespace vramguard
