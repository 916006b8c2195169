#include "config/load_config.h"

#include "config/environment_keys.h"
#include "config/file_keys.h"
#include "config/read_file.h"
#include "config/settings.h"
#include "core/errno_text.h"

#include <dirent.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vramguard {
namespace {

// What a file that cannot be opened means.
enum class Need {
  Optional,     // one of the search path; it need not exist
  OptionalOwn,  // the same, in a home that after `su` may be somebody else's and closed to us
  Required,     // the user named it
};

void read_one(const std::string& path, Need need, FileRole role, const ConfigPaths& paths, Settings& settings) {
  auto file = read_file(path, geteuid());
  if (const auto* error = std::get_if<ReadError>(&file)) {
    const Place place{path, 0, 0, ""};
    if (error->kind == ReadError::Kind::Missing && need != Need::Required) return;
    if (error->kind == ReadError::Kind::Hidden && need == Need::OptionalOwn) {
      settings.warning(place, "", error->message);
    } else {
      settings.error(place, "", error->message);
    }
    return;
  }
  auto& text = std::get<FileText>(file);
  if (paths.secure) text.distrust = "the program is setuid";
  read_keys(text, path, role, settings);
  if (role == FileRole::Config) settings.read_from(path);
}

// The *.toml files of a folder, in the order of their bytes.
std::vector<std::string> toml_files(const std::string& folder, Settings& settings) {
  std::vector<std::string> files;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) {
    if (errno != ENOENT && errno != ENOTDIR)
      settings.error({folder, 0, 0, ""}, "", "cannot read it: " + errno_text(errno));
    return files;
  }
  while (const dirent* entry = readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): the stream is ours alone
    const std::string_view name = entry->d_name;
    if (name.ends_with(".toml") && !name.starts_with('.')) files.push_back(folder + "/" + std::string(name));
  }
  closedir(dir);
  std::sort(files.begin(), files.end());
  return files;
}

// "" when there is none: both variables must be absolute.
std::string user_file(const Environment& environment) {
  const auto config_home = environment.get("XDG_CONFIG_HOME").value_or("");
  if (config_home.starts_with('/')) return std::string(config_home) + "/vramguard/config.toml";
  const auto home = environment.get("HOME").value_or("");
  return home.starts_with('/') ? std::string(home) + "/.config/vramguard/config.toml" : "";
}

void read_files(const Environment& environment, const ConfigPaths& paths, Settings& settings) {
  const auto named = paths.secure ? std::nullopt : environment.get("VRAMGUARD_CONFIG");
  if (!paths.only_file.empty()) {
    read_one(paths.only_file, Need::Required, FileRole::Config, paths, settings);
  } else if (named && named->empty()) {
    settings.error({"", 0, 0, "VRAMGUARD_CONFIG"}, "", "it is empty; name a file or unset it");
  } else if (named) {
    read_one(std::string(*named), Need::Required, FileRole::Config, paths, settings);
  } else {
    read_one(paths.etc_folder + "/config.toml", Need::Optional, FileRole::Config, paths, settings);
    for (const std::string& file : toml_files(paths.etc_folder + "/conf.d", settings)) {
      read_one(file, Need::Optional, FileRole::Config, paths, settings);
    }
    const std::string own = paths.secure ? "" : user_file(environment);
    if (!own.empty()) read_one(own, Need::OptionalOwn, FileRole::Config, paths, settings);
  }
  read_one(paths.etc_folder + "/limits.toml", Need::Optional, FileRole::Limits, paths, settings);
}

}  // namespace

ConfigPaths system_paths() noexcept {
  ConfigPaths paths;
  paths.secure = getauxval(AT_SECURE) != 0;
  return paths;
}

bool LoadResult::ok() const noexcept {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::Error; });
}

LoadResult load_config(const Environment& environment, const ConfigPaths& paths) noexcept {
  try {
    Settings settings;
    read_files(environment, paths, settings);
    if (!paths.secure) read_environment(environment, settings);
    return settings.finish();
  } catch (...) {
    LoadResult failed;
    failed.diagnostics.resize(1);  // an error without a place; its words are short enough to need no memory
    failed.diagnostics[0].message = "out of memory";
    return failed;
  }
}

}  // namespace vramguard
