#include "cli/run_file.h"

#include "cli/exit_status.h"
#include "core/errno_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

namespace vramguard {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::variant<std::string, Problem> write_run_file(const std::string& folder, const std::string& name,
                                                  const std::string& text) {
  const std::string path = folder + "/" + name + kRunFileSuffix;
  const std::string fresh = path + ".new";
  const auto problem = [&](int error) {
    return Problem{kVramguardFailed, path + " cannot be written: " + errno_text(error)};
  };

  unlink(fresh.c_str());
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return problem(errno);
  const bool written = write_all(fd, text);
  const int write_error = errno;
  close(fd);
  // In one step, since a command inside another `run` of the same process may be reading the old one.
  if (written && rename(fresh.c_str(), path.c_str()) == 0) return path;
  const int error = written ? errno : write_error;
  unlink(fresh.c_str());
  return problem(error);
}

}  // namespace vramguard
