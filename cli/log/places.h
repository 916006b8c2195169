// Where the pressure logs of guarded processes are.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace vramguard {

// A log, and whose it must be to be believed: a path that another user names may lead anywhere.
struct LogPlace {
  std::string path;
  std::optional<uid_t> owner;
  friend bool operator==(const LogPlace&, const LogPlace&) = default;
};

// What the configuration says about this user's log: a file, or each process's own where its path names the process.
struct ConfiguredLog {
  std::vector<LogPlace> places;
  std::string nowhere;  // why there is none, for a person
};
ConfiguredLog configured_log();

// The logs that guarded processes say they write, those that have just ended included: of VRAMGUARD_STATE_DIR where it
// is set, else this user's or, for root, everybody's.
std::vector<LogPlace> logs_of_processes();

}  // namespace vramguard
