#include "core/state/state_folder.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "core/errno_text.h"

namespace vramguard {
namespace {

constexpr char kRunFolder[] = "/run/vramguard";
constexpr char kSharedMemory[] = "/dev/shm";
constexpr std::string_view kSharedPrefix = "vramguard-";

bool is_folder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Null where the folder is not as it must be.
std::optional<uid_t> owner_of(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return std::nullopt;
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
  return info.st_uid;
}

// The folders in `parent` that are called `prefix` and a user's number, and belong to that user.
void add_folders_of_users(const char* parent, std::string_view prefix, std::vector<StateFolder>& folders) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(parent), closedir);
  if (open == nullptr) return;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    uid_t uid = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, uid);
    if (error != std::errc() || rest != end) continue;
    std::string path = std::string(parent) + "/" + std::string(name);
    if (owner_of(path) == uid) folders.push_back({std::move(path), uid});
  }
}

}  // namespace

std::string state_folder_path(const std::string& named, uid_t uid) {
  if (!named.empty()) return named;
  const std::string run = std::string(kRunFolder) + "/" + std::to_string(uid);
  return is_folder(run) ? run : std::string(kSharedMemory) + "/" + std::string(kSharedPrefix) + std::to_string(uid);
}

std::variant<std::string, StateProblem> open_state_folder(const std::string& named) {
  const std::string path = state_folder_path(named, geteuid());
  const auto problem = [&](const std::string& what) {
    return StateProblem{"the folder " + path + " " + what + "; name another in VRAMGUARD_STATE_DIR"};
  };
  if (!path.starts_with('/')) return problem("is no absolute path");
  if (mkdir(path.c_str(), 0755) == 0) {
    chmod(path.c_str(), 0755);  // whatever the program's umask: others may look
  } else if (errno != EEXIST) {
    return problem("cannot be made: " + errno_text(errno));
  }

  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return problem("cannot be looked at: " + errno_text(errno));
  if (!S_ISDIR(info.st_mode)) return problem("is no folder");
  if (info.st_uid != geteuid()) return problem("belongs to another user");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return problem("can be written by others");
  return path;
}

std::vector<StateFolder> all_state_folders(const std::string& named) {
  std::vector<StateFolder> folders;
  if (!named.empty()) {
    if (const std::optional<uid_t> owner = owner_of(named)) folders.push_back({named, *owner});
  }
  add_folders_of_users(kRunFolder, "", folders);
  add_folders_of_users(kSharedMemory, kSharedPrefix, folders);
  std::vector<StateFolder> once;
  for (StateFolder& folder : folders) {
    const bool known =
        std::any_of(once.begin(), once.end(), [&](const auto& other) { return other.path == folder.path; });
    if (!known) once.push_back(std::move(folder));
  }
  return once;
}

}  // namespace vramguard
