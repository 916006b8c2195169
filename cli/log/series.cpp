#include "cli/log/series.h"

#include "core/errno_text.h"
#include "core/log_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace vramguard {
namespace {

constexpr std::chrono::seconds kStillWrittenTo{1};

bool older_than(const struct stat& info, WallTime since) {
  return std::chrono::system_clock::from_time_t(info.st_mtim.tv_sec) + std::chrono::seconds(1) < since;
}

}  // namespace

// From the newest on: a file that is renamed meanwhile is then met twice, and never missed.
std::string LogSeries::open(WallTime since) {
  std::string problem;
  for (int i = 0; i <= LogFile::kOldFiles; ++i) {
    const std::string path = i == 0 ? path_ : path_ + "." + std::to_string(i);
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && older_than(info, since) && i > 0) continue;
    if (!open_unless_known(path) && errno != ENOENT && errno != ENOTDIR && problem.empty())
      problem = path + " cannot be read: " + errno_text(errno);
  }
  return problem;
}

bool LogSeries::open_unless_known(const std::string& path) {
  auto reader = LineReader::open(path, owner_);
  if (!reader) return false;
  const bool known = std::any_of(readers_.begin(), readers_.end(),
                                 [&](const File& file) { return file.reader.identity() == reader->identity(); });
  if (!known) readers_.push_front({std::move(*reader), std::nullopt});
  return true;
}

std::optional<std::string_view> LogSeries::next(bool last) {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (const auto line = readers_[i].reader.next()) return line;
    if (!last) continue;
    const std::string_view rest = readers_[i].reader.take_rest();
    if (!rest.empty()) return rest;
  }
  return std::nullopt;
}

void LogSeries::look_again(MonotonicTime now) {
  for (File& file : readers_) file.reader.look_for_truncation();
  std::erase_if(readers_, [&](const File& file) { return file.done_at && *file.done_at <= now; });

  struct stat info {};
  if (stat(path_.c_str(), &info) != 0) return;
  if (!readers_.empty() && readers_.back().reader.identity() == FileIdentity{info.st_dev, info.st_ino}) return;
  auto fresh = LineReader::open(path_, owner_);
  if (!fresh) return;
  for (File& file : readers_) {
    if (!file.done_at) file.done_at = now + kStillWrittenTo;
  }
  readers_.push_back({std::move(*fresh), std::nullopt});
}

}  // namespace vramguard
