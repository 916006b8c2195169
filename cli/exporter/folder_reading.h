// What one state folder tells: the guarded processes that live, and the counts of all there ever were.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/state/counters.h"
#include "core/state/state_folder.h"
#include "core/state/state_reader.h"

namespace vramguard {

// What is kept of one process's file, which is a hundred times as large.
struct LiveDevice {
  std::string uuid;
  int level = 0;
  std::uint64_t budget_bytes = kStateUnknown, device_free_bytes = kStateUnknown;
  std::uint64_t used_bytes = 0, peak_bytes = 0, sentinel_bytes = 0;
};
struct LiveProcess {
  Labels workload;
  std::string folder, group, comm;
  uid_t owner = 0;
  std::optional<pid_t> pid;  // here
  pid_t own_pid = 0;         // in its own pid namespace
  std::uint64_t start_ticks = 0;
  std::int64_t started_at_ms = 0;
  std::uint64_t updated_at_ms = 0;
  std::vector<LiveDevice> devices;
};

struct FolderReading {
  std::vector<LiveProcess> live;
  Counters counters;  // of live ones, of those that have ended, and of those that the folder has summed up
  bool exact = false;
  std::size_t stale = 0;
  std::vector<UnreadableState> unreadable;
};

// Each process is counted once, also while its file is being folded by somebody else. `between` is called after the
// files have been read and before it is looked who was folded meanwhile: for tests.
FolderReading read_folder(
    const StateFolder& folder, void (*between)() = [] {});

}  // namespace vramguard
