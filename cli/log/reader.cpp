#include "cli/log/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace vramguard {

std::optional<LineReader> LineReader::open(const std::string& path, std::optional<uid_t> owner) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  LineReader reader(fd, {});
  struct stat info {};
  if (fstat(fd, &info) != 0) return std::nullopt;
  if (!S_ISREG(info.st_mode) || (owner && info.st_uid != *owner)) {
    errno = S_ISDIR(info.st_mode) ? EISDIR : EACCES;
    return std::nullopt;
  }
  reader.identity_ = {info.st_dev, info.st_ino};
  return reader;
}

LineReader::LineReader(LineReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      identity_(other.identity_),
      offset_(other.offset_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_) {}

LineReader& LineReader::operator=(LineReader&& other) noexcept {
  std::swap(fd_, other.fd_);
  identity_ = other.identity_;
  offset_ = other.offset_;
  buffer_.swap(other.buffer_);
  begin_ = other.begin_;
  return *this;
}

LineReader::~LineReader() {
  const int error = errno;
  if (fd_ >= 0) close(fd_);
  errno = error;
}

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos || buffer_.size() - begin_ >= kPieceBytes) {
      const std::size_t size = (end != std::string::npos ? end : buffer_.size()) - begin_;
      const std::string_view line(buffer_.data() + begin_, size);
      begin_ += size + (end != std::string::npos ? 1 : 0);
      return line;
    }
    searched = buffer_.size() - begin_;
    buffer_.erase(0, std::exchange(begin_, 0));
    if (!fill()) return std::nullopt;
  }
}

std::string_view LineReader::take_rest() {
  return std::string_view(buffer_).substr(std::exchange(begin_, buffer_.size()));
}

bool LineReader::fill() {
  const std::size_t have = buffer_.size();
  buffer_.resize(have + kPieceBytes);
  ssize_t size;
  do {
    size = pread(fd_, buffer_.data() + have, kPieceBytes, offset_);
  } while (size < 0 && errno == EINTR);
  buffer_.resize(have + static_cast<std::size_t>(size > 0 ? size : 0));
  offset_ += size > 0 ? size : 0;
  return size > 0;
}

void LineReader::look_for_truncation() {
  struct stat info {};
  if (fstat(fd_, &info) != 0 || info.st_size >= offset_) return;
  offset_ = 0;
  begin_ = 0;
  buffer_.clear();
}

}  // namespace vramguard
