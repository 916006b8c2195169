#include "cli/state_folder.h"

#include "cli/exit_status.h"
#include "config/errno_text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace vramguard {
namespace {

bool is_folder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string place_for(const std::string& user, const std::string& named) {
  if (!named.empty()) return named;
  const std::string run = "/run/vramguard/" + user;
  return is_folder(run) ? run : "/dev/shm/vramguard-" + user;
}

}  // namespace

std::variant<std::string, Problem> open_state_folder(const ChildEnvironment& environment) {
  const std::string path = place_for(std::to_string(geteuid()), environment.get("VRAMGUARD_STATE_DIR"));
  const auto problem = [&](const std::string& what) {
    return Problem{kVramguardFailed, "the folder " + path + " " + what + "; name another in VRAMGUARD_STATE_DIR"};
  };
  if (!path.starts_with('/')) return problem("is no absolute path");
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return problem("cannot be made: " + errno_text(errno));

  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return problem("cannot be looked at: " + errno_text(errno));
  if (!S_ISDIR(info.st_mode)) return problem("is no folder");
  if (info.st_uid != geteuid()) return problem("belongs to another user");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return problem("can be written by others");
  return path;
}

}  // namespace vramguard
