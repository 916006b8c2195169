// Which file the log is.
#pragma once

#include <sys/types.h>

#include <string>

namespace vramguard {

struct LogLocation {
  std::string path;  // absolute; empty: there is no place for a log
  mode_t folder_mode = 0755;
};

// What decides about the path, apart from the configuration.
struct LogSurroundings {
  uid_t euid = 0;
  pid_t pid = 0;
  std::string host;
  std::string working_folder;
  std::string home;        // "" if unknown
  std::string state_home;  // XDG_STATE_HOME, "" if not set
  bool (*on_network)(const std::string& folder) = nullptr;

  // Trusts no environment in a setuid program, and asks no name service.
  static LogSurroundings of_this_process();
};

// `configured` as in LogConfig::path: "" is the default of this user; %u %p %h stand for uid, pid and host, %% for a
// percent sign. Touches no file but to ask what kind of file system the default is on.
LogLocation locate_log(const std::string& configured, const LogSurroundings& surroundings);

// The home folder that a file like /etc/passwd names for `uid`; "" if none.
std::string home_in_passwd(uid_t uid, const char* file = "/etc/passwd");

// Whether the folder, or the nearest one above it that exists, is on a file system that other machines may share.
bool is_on_network(const std::string& folder);
bool is_network_file_system(unsigned long magic);  // statfs' f_type

}  // namespace vramguard
