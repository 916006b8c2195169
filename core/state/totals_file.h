// The file in which a folder keeps the sums of processes that have ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/state/counters.h"

namespace vramguard {

inline constexpr char kTotalsFile[] = "totals";

// Not thread-safe: belongs to whoever read it.
struct Totals {
  // More are not kept. Those that no process has added to for the longest time go first, and of them those that name a
  // pod, a container or a job: there is no end of these.
  static constexpr std::size_t kMostSeries = 4096;
  // How many of the processes that were added last are known by name: a reader that looks at files and sums while
  // processes end tells by them whom it has seen twice.
  static constexpr std::size_t kLastFolded = 256;

  bool of_another_version = false;  // then the file is to be left alone
  std::uint64_t folds = 0;          // processes added so far
  std::deque<std::string> folded;   // of them the last ones: their files' names without suffix, the newest last
  std::vector<std::pair<std::string, std::uint64_t>> sums;  // those that were added to last come last

  // Whether `name` is one of the last ones.
  bool has_folded(const std::string& name) const;
  // `counts` of the process `name`. What is zero is left out.
  void add(const std::string& name, const Counters& counts);
};

// Of a regular file of `owner`. Lines that cannot be read are left out; without a file all is empty.
Totals read_totals_file(const std::string& folder, uid_t owner);

// Writes them beside the file, under a name that nobody looks at. False: the file system is full, or the like.
bool write_hidden_totals(const std::string& folder, const Totals& totals) noexcept;
// Gives them their name, in one step.
bool publish_totals(const std::string& folder) noexcept;

}  // namespace vramguard
