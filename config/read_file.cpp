#include "config/read_file.h"

#include "config/file_trust.h"
#include "core/errno_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace vramguard {
namespace {

using Kind = ReadError::Kind;

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

ReadError open_error(const std::string& path, int error) {
  const std::string message = "cannot read it: " + errno_text(error);
  if (error == ENOENT || error == ENOTDIR) return {Kind::Missing, message};
  struct stat info {};
  const bool hidden = error == EACCES && stat(path.c_str(), &info) != 0 && errno == EACCES;
  return {hidden ? Kind::Hidden : Kind::Unreadable, message};
}

}  // namespace

std::variant<FileText, ReadError> read_file(const std::string& path, uid_t euid) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.fd < 0) return open_error(path, errno);

  struct stat info {};
  if (fstat(file.fd, &info) != 0) return ReadError{Kind::Unreadable, "cannot read it: " + errno_text(errno)};
  if (S_ISDIR(info.st_mode)) return ReadError{Kind::Unreadable, "it is a folder, not a file"};
  if (!S_ISREG(info.st_mode)) return ReadError{Kind::Unreadable, "it is not a regular file"};

  FileText out;
  char buffer[8192];
  for (;;) {
    const ssize_t count = read(file.fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ReadError{Kind::Unreadable, "cannot read it: " + errno_text(errno)};
    if (count == 0) break;
    out.text.append(buffer, static_cast<std::size_t>(count));
    if (out.text.size() > kLargestConfigFile) {
      return ReadError{Kind::Unreadable, "it is larger than 1MiB; a configuration file is not"};
    }
  }
  out.distrust = reason_to_distrust(file.fd, euid);
  return out;
}

}  // namespace vramguard
