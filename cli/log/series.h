// One log with the files that it was rotated into, as one sequence of lines.
#pragma once

#include "cli/log/reader.h"
#include "core/clock.h"

#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace vramguard {

// Not thread-safe.
class LogSeries {
 public:
  // Only files of `owner`, where one is given, are read: a path that somebody else named may lead anywhere.
  LogSeries(std::string path, std::optional<uid_t> owner) : path_(std::move(path)), owner_(owner) {}

  // Opens all files but those last written to before `since`. What cannot be read although it is there, for a person;
  // "" if nothing is.
  std::string open(WallTime since);

  // The next line, oldest first, without its end; valid until the next call. nullopt: there is none yet. Where nothing
  // will be written any more, `last` gives also a line without an end.
  std::optional<std::string_view> next(bool last);

  // While following: is there a new file, or has the old one been truncated?
  void look_again(MonotonicTime now);

  // Neither the log nor an older file of it is there.
  bool empty() const { return readers_.empty(); }
  const std::string& path() const { return path_; }

 private:
  struct File {
    LineReader reader;
    // Others may still write to a file that was renamed: until then it is read on.
    std::optional<MonotonicTime> done_at;
  };
  bool open_unless_known(const std::string& path);

  std::string path_;
  std::optional<uid_t> owner_;
  std::deque<File> readers_;  // oldest first
};

}  // namespace vramguard
