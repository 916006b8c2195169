#include "config/file_trust.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vramguard {
namespace {

bool is_ours(const struct stat& info, uid_t euid) { return info.st_uid == 0 || info.st_uid == euid; }
bool others_can_write(const struct stat& info) { return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

}  // namespace

std::string reason_to_distrust(int fd, uid_t euid) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return "it is not a regular file";
  if (!is_ours(info, euid)) return "it belongs to another user";
  if (others_can_write(info)) return "others can write to it (chmod go-w)";

  char buffer[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), buffer, sizeof buffer);
  if (length <= 0 || length == sizeof buffer || buffer[0] != '/') return "the folder it lies in is unknown";
  std::string path(buffer, static_cast<std::size_t>(length));

  struct stat below {};
  if (lstat(path.c_str(), &below) != 0 || below.st_dev != info.st_dev || below.st_ino != info.st_ino) {
    return "it was moved or replaced while it was read";
  }
  while (path != "/") {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == 0 ? 1 : slash);
    struct stat folder {};
    if (lstat(path.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode))
      return "the folder " + path + " cannot be checked";
    if (!is_ours(folder, euid)) return "the folder " + path + " belongs to another user";
    const bool sticky = (folder.st_mode & S_ISVTX) != 0 && is_ours(below, euid);
    if (others_can_write(folder) && !sticky) return "others can write to the folder " + path;
    below = folder;
  }
  return "";
}

}  // namespace vramguard
