// The log as a file that many processes append to, and that may be renamed, truncated or deleted under them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace vramguard {

// Not thread-safe: whoever writes the log uses it. Keeps no descriptor: each line opens, writes once and closes. Calls
// nothing that waits, retries nothing, prints nothing.
class LogFile {
 public:
  static constexpr off_t kRotateAtBytes = off_t{16} << 20;
  static constexpr int kOldFiles = 3;  // path.1 is the newest

  // `path` is absolute; missing parent folders are made with `folder_mode` less the umask.
  LogFile(std::string path, mode_t folder_mode, off_t rotate_at = kRotateAtBytes);

  // False when the line is not, or not wholly, in the file.
  bool write(std::string_view line) noexcept;
  const std::string& path() const noexcept { return path_; }

 private:
  int open_for_append() noexcept;
  int open_making_folders() noexcept;
  int rotated(int fd) noexcept;
  void shift_old_files() noexcept;
  void make_folders() noexcept;

  std::string path_;
  mode_t folder_mode_;
  off_t rotate_at_;
  std::string old_names_[kOldFiles];
  bool torn_ = false;  // the last line that we wrote has no end
};

}  // namespace vramguard
