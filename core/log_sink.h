// Where the lines of the log go: a file, stderr or nowhere, by way of an spdlog logger of our own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/guard_config.h"
#include "core/log_path.h"

namespace vramguard {

// wants() from any thread; the rest as LogFile. Outside spdlog's registry: the host's spdlog and ours do not meet.
class LogSink {
 public:
  LogSink(LogTarget target, LogLevel level, const LogLocation& location);
  LogSink(const LogSink&) = delete;
  ~LogSink();

  bool wants(LogLevel level) const noexcept;
  // False when the line was lost.
  bool write(LogLevel level, WallTime wall, std::string_view line) noexcept;
  const std::string& path() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramguard
