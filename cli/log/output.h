// Lines for a terminal, a file or a pipe whose reader may go away.
#pragma once

#include <string>
#include <string_view>

namespace vramguard {

// Writes to standard output. Not thread-safe.
class LineOutput {
 public:
  LineOutput();

  // As it is; on a terminal without what it would obey.
  void put(std::string_view line);
  void flush();
  // Nobody reads any more, or the disk is full: there is no point in going on.
  bool ended() const { return error_ != 0; }
  // 0, or the error that was no mere reader who went away.
  int error() const;

  // Waits, less long if the reader goes away.
  void wait(int milliseconds);

 private:
  bool terminal_;
  int error_ = 0;
  std::string buffer_;
};

}  // namespace vramguard
