// A temporary folder with configuration files, and an environment of the test's own.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "config/load_config.h"

namespace vramguard {

// Owns its folder; removed at the end.
class ConfigFixture {
 public:
  ConfigFixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vramguard-config-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    paths_.etc_folder = root_ + "/etc";
    set("XDG_CONFIG_HOME", root_ + "/home/.config");
  }
  ConfigFixture(const ConfigFixture&) = delete;
  ~ConfigFixture() { std::filesystem::remove_all(root_); }

  // The path of a file with that text, below the folder; only the owner can write it.
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = root_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), 0644);
    return path;
  }
  void set(const std::string& name, const std::string& value) { variables_.push_back(name + "=" + value); }

  LoadResult load() const {
    std::vector<const char*> entries;
    for (const std::string& variable : variables_) entries.push_back(variable.c_str());
    entries.push_back(nullptr);
    return load_config({entries.data()}, paths_);
  }
  // What loading says, one line each, with the folder left out.
  std::vector<std::string> messages() const {
    std::vector<std::string> out;
    for (const Diagnostic& diagnostic : load().diagnostics) {
      std::string line = to_string(diagnostic);
      for (std::size_t at; (at = line.find(root_ + "/")) != std::string::npos;) line.erase(at, root_.size() + 1);
      out.push_back(line);
    }
    return out;
  }
  // The messages for a single file, named by VRAMGUARD_CONFIG, of "schema = 1" in its first line and `text` after it.
  std::vector<std::string> messages_for(const std::string& text) { return messages_for_raw("schema = 1\n" + text); }
  std::vector<std::string> messages_for_raw(const std::string& text) {
    paths_.only_file = write("config.toml", text);
    return messages();
  }

  const std::string& root() const { return root_; }
  ConfigPaths& paths() { return paths_; }

 private:
  std::string root_;
  ConfigPaths paths_;
  std::vector<std::string> variables_;
};

// The value and origin that hold for a key, as "VALUE from ORIGIN".
inline std::string effective(const LoadResult& result, const std::string& key) {
  for (const EffectiveValue& value : result.values) {
    if (value.key == key) return value.text + " from " + to_string(value.place);
  }
  return "no such key";
}

}  // namespace vramguard
