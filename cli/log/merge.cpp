#include "cli/log/merge.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace vramguard {

std::string LogMerge::add(const LogPlace& place) {
  const bool known =
      std::any_of(logs_.begin(), logs_.end(), [&](const auto& log) { return log->series.path() == place.path; });
  if (known) return "";
  logs_.push_back(std::make_unique<Log>(place));
  without_line_.push_back(logs_.size() - 1);
  return logs_.back()->series.open(since_);
}

std::optional<MergedLine> LogMerge::next(bool last) {
  for (const std::size_t log : std::exchange(without_line_, {})) fetch(log, last);
  if (turns_.empty()) return std::nullopt;
  const std::size_t log = turns_.top().log;
  turns_.pop();
  given_ = std::move(logs_[log]->line);
  without_line_.push_back(log);
  return MergedLine{log, given_, read_log_head(given_)};
}

void LogMerge::fetch(std::size_t log, bool last) {
  Log& source = *logs_[log];
  const auto line = source.series.next(last);
  if (!line) {
    idle_.push_back(log);
    return;
  }
  source.line = *line;
  if (const auto head = read_log_head(source.line)) source.ts = head->ts;
  turns_.push({source.ts, log});
}

void LogMerge::look_again(MonotonicTime now) {
  for (const auto& log : logs_) log->series.look_again(now);
  without_line_.insert(without_line_.end(), idle_.begin(), idle_.end());
  idle_.clear();
}

bool LogMerge::empty() const {
  return std::all_of(logs_.begin(), logs_.end(), [](const auto& log) { return log->series.empty(); });
}

std::vector<std::string> LogMerge::paths() const {
  std::vector<std::string> paths;
  for (const auto& log : logs_) paths.push_back(log->series.path());
  return paths;
}

}  // namespace vramguard
