#include "cli/log/output.h"

#include "core/state/state_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace vramguard {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;

}  // namespace

LineOutput::LineOutput() : terminal_(isatty(STDOUT_FILENO) != 0) { std::signal(SIGPIPE, SIG_IGN); }

void LineOutput::put(std::string_view line) {
  if (terminal_) {
    buffer_ += printable(std::string(line));
  } else {
    buffer_ += line;
  }
  buffer_ += '\n';
  if (buffer_.size() >= kBufferBytes) flush();
}

void LineOutput::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && error_ == 0) {
    const ssize_t size = write(STDOUT_FILENO, rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      error_ = errno;
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  buffer_.clear();
}

int LineOutput::error() const { return error_ == EPIPE ? 0 : error_; }

void LineOutput::wait(int milliseconds) {
  pollfd reader{STDOUT_FILENO, 0, 0};
  if (poll(&reader, 1, milliseconds) > 0 && (reader.revents & (POLLERR | POLLHUP)) != 0) error_ = EPIPE;
}

}  // namespace vramguard
