// The lines of one file, which others write to meanwhile.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace vramguard {

// Which file it is, whatever it is called.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Owns the open file. Keeps one piece of it in memory, whatever its size. Not thread-safe.
class LineReader {
 public:
  static constexpr std::size_t kPieceBytes = 16 * 1024;  // a longer line comes in pieces

  // A regular file, and of that owner where one is given; nullopt and errno otherwise.
  static std::optional<LineReader> open(const std::string& path, std::optional<uid_t> owner);
  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&& other) noexcept;
  ~LineReader();

  // The next whole line, without its end; valid until the next call. nullopt: there is none yet.
  std::optional<std::string_view> next();
  // What follows the last whole line: one that was cut short. Valid until the next call.
  std::string_view take_rest();

  // Starts anew where the file has become shorter than what was read.
  void look_for_truncation();
  const FileIdentity& identity() const { return identity_; }

 private:
  LineReader(int fd, FileIdentity identity) : fd_(fd), identity_(identity) {}
  bool fill();

  int fd_;
  FileIdentity identity_;
  off_t offset_ = 0;  // of the file, behind what is in the buffer
  std::string buffer_;
  std::size_t begin_ = 0;  // of what has not been given away
};

}  // namespace vramguard
