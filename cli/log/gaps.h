// Records that are missing from the log, told by their numbers.
#pragma once

#include "cli/log/line.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace vramguard {

// Not thread-safe. A process that has ended is forgotten unless it lacks records, so that memory does not grow with the
// log.
class LogGaps {
 public:
  // A record of the log of that number; in the order in which they were written.
  void see(std::size_t log, const LogHead& head);
  // "2 records of python (4711) are missing: ...", a line for each process.
  std::vector<std::string> in_words() const;

 private:
  struct Process {
    std::string comm;
    std::uint64_t last = 0;
    std::uint64_t missing = 0;
    bool shared = false;  // two write under that number at once, from two containers: nothing can be told
  };
  using Key = std::pair<std::size_t, std::int64_t>;
  static std::string in_words(const Key& key, const Process& process);
  void end(const Key& key, const Process& process);

  std::map<Key, Process> processes_;
  std::vector<std::string> ended_;
};

}  // namespace vramguard
