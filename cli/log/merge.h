// Several logs as one, by time.
#pragma once

#include "cli/log/line.h"
#include "cli/log/places.h"
#include "cli/log/series.h"

#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

namespace vramguard {

// A line and what it says; without a head where it is no record, and then at the place of the one before it. Valid
// until the next call.
struct MergedLine {
  std::size_t log;
  std::string_view text;
  std::optional<LogHead> head;
};

// Holds one line of each log in memory. Not thread-safe.
class LogMerge {
 public:
  explicit LogMerge(WallTime since) : since_(since) {}

  // Unless it is known. What cannot be read of it, for a person; "" if nothing is wrong.
  std::string add(const LogPlace& place);

  // As LogSeries::next: the oldest of all that can be had. A log that had no more is asked again after look_again().
  std::optional<MergedLine> next(bool last);
  void look_again(MonotonicTime now);

  // None of the logs is there.
  bool empty() const;
  std::vector<std::string> paths() const;

 private:
  struct Log {
    explicit Log(const LogPlace& place) : series(place.path, place.owner) {}
    LogSeries series;
    std::string line;
    std::string ts;  // of the last record
  };
  struct Turn {
    std::string ts;
    std::size_t log;
    bool operator>(const Turn& other) const { return ts != other.ts ? ts > other.ts : log > other.log; }
  };
  void fetch(std::size_t log, bool last);

  const WallTime since_;
  std::vector<std::unique_ptr<Log>> logs_;
  std::vector<std::size_t> without_line_;  // whose line was given away
  std::vector<std::size_t> idle_;          // that had no more
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::string given_;
};

}  // namespace vramguard
