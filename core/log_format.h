// Turns a record into the line that is written, logfmt or JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/clock.h"
#include "core/guard_config.h"
#include "core/log_record.h"

namespace vramguard {

// The process as the log names it.
struct LogIdentity {
  std::int64_t pid = 0;
  std::array<char, 16> comm{};  // as the kernel keeps it; up to the first NUL

  std::string_view comm_text() const noexcept;
  static LogIdentity of_this_process() noexcept;
};

// A line with its newline. One byte less than one write may have: a line after a torn one starts with a newline.
struct LogLine {
  static constexpr std::size_t kMaxBytes = 4095;

  char bytes[kMaxBytes];
  std::size_t size = 0;

  std::string_view text() const noexcept { return {bytes, size}; }
};

// Immutable. Both formats hold the same keys and values; what JSON cannot hold (bytes that are not UTF-8) neither
// holds.
class LogFormatter {
 public:
  LogFormatter(LogFormat format, const LogIdentity& identity) noexcept : format_(format), identity_(identity) {}

  // Fields that do not fit are left out, and `cut=1` ends the line.
  void format(const LogRecord& record, WallTime wall, std::uint64_t seq, LogLine& line) const noexcept;

 private:
  LogFormat format_;
  LogIdentity identity_;
};

// "error", "warn", "info", "debug": as in `lvl` and in the configuration.
std::string_view name_of(LogLevel level) noexcept;

}  // namespace vramguard
