#include "cli/log/places.h"

#include "config/load_config.h"

#include "core/log_path.h"
#include "core/state/state_reader.h"
#include "core/state/state_text.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string_view>

namespace vramguard {
namespace {

// A process that nobody has: where it comes into a path, each process has a log of its own.
constexpr pid_t kAnyPid = INT_MAX;

std::string pattern_of(const std::string& path, const std::string& pid) {
  std::string pattern;
  for (std::size_t at = 0; at < path.size();) {
    if (path.compare(at, pid.size(), pid) == 0) {
      pattern += '*';
      at += pid.size();
      continue;
    }
    if (std::string_view("*?[\\").find(path[at]) != std::string_view::npos) pattern += '\\';
    pattern += path[at++];
  }
  return pattern;
}

// The files of the pattern that are no older part of another one.
std::vector<LogPlace> find_all(const std::string& pattern) {
  std::vector<LogPlace> places;
  glob_t found{};
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) places.push_back({found.gl_pathv[i], std::nullopt});
  }
  globfree(&found);
  const auto is_older_part = [&](const LogPlace& place) {
    return std::any_of(places.begin(), places.end(), [&](const LogPlace& other) {
      return place.path.size() == other.path.size() + 2 && place.path.starts_with(other.path + ".");
    });
  };
  std::vector<LogPlace> logs;
  std::copy_if(places.begin(), places.end(), std::back_inserter(logs), std::not_fn(is_older_part));
  return logs;
}

}  // namespace

ConfiguredLog configured_log() {
  const LoadResult loaded = load_config({environ}, system_paths());
  const LogConfig& log = loaded.config.log;
  if (log.target == LogTarget::None) return {{}, "the configuration switches it off (log.target = \"none\")"};
  if (log.target == LogTarget::Stderr) return {{}, "it goes to standard error (log.target = \"stderr\")"};
  LogSurroundings surroundings = LogSurroundings::of_this_process();
  surroundings.pid = kAnyPid;
  const std::string path = locate_log(log.path, surroundings).path;
  if (path.empty()) return {{}, "it has no place: this user has no home folder; name one in VRAMGUARD_LOG"};
  const std::string pid = std::to_string(kAnyPid);
  if (path.find(pid) == std::string::npos) return {{{path, std::nullopt}}, ""};
  return {find_all(pattern_of(path, pid)), ""};
}

std::vector<LogPlace> logs_of_processes() {
  const char* named = std::getenv("VRAMGUARD_STATE_DIR");
  const bool has_name = named != nullptr && *named != '\0';
  std::vector<StateFolder> folders = all_state_folders(has_name ? named : "");
  std::erase_if(folders, [&](const StateFolder& folder) {
    return has_name ? folder.path != named : geteuid() != 0 && folder.owner != geteuid();
  });
  std::vector<LogPlace> places;
  for (const SeenProcess& process : read_states(folders).processes) {
    const bool own = process.owner == geteuid();
    LogPlace place{state_text(process.state.log_path), own ? std::nullopt : std::optional(process.owner)};
    if (!place.path.starts_with('/')) continue;
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
  }
  return places;
}

}  // namespace vramguard
