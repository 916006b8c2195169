#include "core/log_sink.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "core/log_file.h"

namespace vramguard {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::Error:
      return spdlog::level::err;
    case LogLevel::Warn:
      return spdlog::level::warn;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Debug:
      break;
  }
  return spdlog::level::debug;
}

// Takes finished lines: spdlog's patterns know neither our keys nor how to quote, and its file sinks keep a descriptor.
class LineSink : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& message) final {
    lost_ = !write({message.payload.data(), message.payload.size()});
  }
  void flush() final {}
  void set_pattern(const std::string&) final {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) final {}

  bool lost() const { return lost_; }
  void expect_loss() { lost_ = true; }
  virtual const std::string& path() const { return no_path_; }

 private:
  virtual bool write(std::string_view line) = 0;

  bool lost_ = false;
  std::string no_path_;
};

class FileSink final : public LineSink {
 public:
  explicit FileSink(const LogLocation& location) : file_(location.path, location.folder_mode) {}
  const std::string& path() const override { return file_.path(); }

 private:
  bool write(std::string_view line) override { return file_.write(line); }
  LogFile file_;
};

class StderrSink final : public LineSink {
  // A pipe that says it is writable takes one line whole; one whose reader sleeps must not make us sleep too.
  bool write(std::string_view line) override {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
    return ::write(STDERR_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  }
};

// For a log that is a file but has no place.
class LostSink final : public LineSink {
  bool write(std::string_view) override { return false; }
};

std::shared_ptr<LineSink> make_sink(LogTarget target, const LogLocation& location) {
  switch (target) {
    case LogTarget::File:
      if (!location.path.empty()) return std::make_shared<FileSink>(location);
      return std::make_shared<LostSink>();
    case LogTarget::Stderr:
      return std::make_shared<StderrSink>();
    case LogTarget::None:
      break;
  }
  return nullptr;
}

}  // namespace

struct LogSink::Impl {
  Impl(LogTarget target, LogLevel level, const LogLocation& location)
      : sink(make_sink(target, location)), logger("vramguard", sink) {
    logger.set_level(sink ? spdlog_level(level) : spdlog::level::off);
    logger.set_error_handler([](const std::string&) {});
  }

  std::shared_ptr<LineSink> sink;
  spdlog::logger logger;
  std::string no_path;
};

LogSink::LogSink(LogTarget target, LogLevel level, const LogLocation& location)
    : impl_(std::make_unique<Impl>(target, level, location)) {}

LogSink::~LogSink() = default;

bool LogSink::wants(LogLevel level) const noexcept { return impl_->logger.should_log(spdlog_level(level)); }

bool LogSink::write(LogLevel level, WallTime wall, std::string_view line) noexcept {
  if (!impl_->sink) return true;
  impl_->sink->expect_loss();
  impl_->logger.log(wall, spdlog::source_loc{}, spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
  return !impl_->sink->lost();
}

const std::string& LogSink::path() const noexcept { return impl_->sink ? impl_->sink->path() : impl_->no_path; }

}  // namespace vramguard
