// Which records `vramguard log` shows.
#pragma once

#include "cli/log/line.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramguard {

// As written on the command line. A plain value.
struct LogSelection {
  std::vector<pid_t> pids;
  std::vector<std::string> events;
  std::string level;  // and those that are worse
  std::string since;
};

// Never changes once it is made.
class LogFilter {
 public:
  // `since` as log_time() writes it; "" for all.
  LogFilter(const LogSelection& selection, std::string since);

  // By time and process alone: what the numbers of the records must be without gaps in.
  bool concerns(const LogHead& head) const;
  bool shows(const LogHead& head) const;
  // A line that is no record is shown only where nothing is left out.
  bool shows_all() const;

 private:
  std::vector<pid_t> pids_;
  std::vector<std::string> events_;
  std::size_t level_;  // of kLogLevelWords: the last that is shown
  std::string since_;
};

// What is wrong with the words of it, for a person.
std::optional<std::string> objection_to(const LogSelection& selection);

}  // namespace vramguard
