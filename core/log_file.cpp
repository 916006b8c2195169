#include "core/log_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

namespace vramguard {

LogFile::LogFile(std::string path, mode_t folder_mode, off_t rotate_at)
    : path_(std::move(path)), folder_mode_(folder_mode), rotate_at_(rotate_at) {
  for (int i = 0; i < kOldFiles; ++i) old_names_[i] = path_ + "." + std::to_string(i + 1);
}

bool LogFile::write(std::string_view line) noexcept {
  const int fd = open_making_folders();
  if (fd < 0) return false;

  // A line of ours that was cut short must not swallow this one.
  char newline = '\n';
  iovec parts[] = {{&newline, 1}, {const_cast<char*>(line.data()), line.size()}};
  const std::size_t first = torn_ ? 0 : 1;
  const std::size_t wanted = line.size() + (torn_ ? 1 : 0);
  const ssize_t written = writev(fd, parts + first, static_cast<int>(2 - first));
  close(fd);
  if (written <= 0) return false;
  const bool whole = static_cast<std::size_t>(written) == wanted;
  torn_ = !whole && !(torn_ && written == 1);
  return whole;
}

int LogFile::open_for_append() noexcept {
  // NOFOLLOW and the check for a regular file: nobody may lead us into a file that is not a log. NONBLOCK: nor into a
  // FIFO.
  const int fd =
      open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644);
  if (fd < 0) return -1;
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return -1;
  }
  return status.st_size < rotate_at_ ? fd : rotated(fd);
}

int LogFile::open_making_folders() noexcept {
  errno = 0;
  const int fd = open_for_append();
  if (fd >= 0 || errno != ENOENT) return fd;
  make_folders();
  return open_for_append();
}

// The file to write to instead of the full one `fd`. When another process rotates or has rotated it, that is `fd`
// itself: the line then ends in path.1, which loses nothing; waiting would.
int LogFile::rotated(int fd) noexcept {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return fd;
  struct stat ours;
  struct stat named;
  if (fstat(fd, &ours) != 0 || lstat(path_.c_str(), &named) != 0) return fd;
  if (ours.st_dev != named.st_dev || ours.st_ino != named.st_ino) return fd;
  shift_old_files();
  if (rename(path_.c_str(), old_names_[0].c_str()) != 0) return fd;

  const int fresh =
      open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644);
  struct stat status;
  if (fresh >= 0 && fstat(fresh, &status) == 0 && S_ISREG(status.st_mode)) {
    close(fd);
    return fresh;
  }
  if (fresh >= 0) close(fresh);
  return fd;
}

void LogFile::shift_old_files() noexcept {
  for (int i = kOldFiles - 1; i > 0; --i) rename(old_names_[i - 1].c_str(), old_names_[i].c_str());
}

void LogFile::make_folders() noexcept {
  char folder[PATH_MAX];
  if (path_.size() >= sizeof folder) return;
  std::memcpy(folder, path_.c_str(), path_.size() + 1);
  for (char* slash = std::strchr(folder + 1, '/'); slash != nullptr; slash = std::strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(folder, folder_mode_);
    *slash = '/';
  }
}

}  // namespace vramguard
