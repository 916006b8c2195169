// Finds the processes of a command that use a GPU without the guard, and adds up what the guarded ones tell.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/nvml_view.h"
#include "cli/process_tree.h"
#include "core/budget.h"

namespace vramguard {

// For one thread.
class GpuWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit GpuWatch(std::string folder) : folder_(std::move(folder)) {}

  // One look at processes that live now. What starts and ends between two looks is not seen.
  void look(const std::vector<TreeProcess>& processes, Time now);

  struct Unguarded {
    pid_t pid;
    std::string comm;
    const char* why;
  };
  const std::vector<Unguarded>& unguarded() const { return unguarded_; }

  struct Totals {
    Bytes peak = 0, budget = kUnlimitedBytes;  // of the device with the highest peak
    std::uint64_t refused = 0, recovered = 0;
    bool any = false;  // a guarded process was seen
  };
  Totals totals() const;

 private:
  struct Known {
    std::uint64_t start_ticks = 0, start_stack = 0;
    std::chrono::milliseconds patience{};  // between two checks
    bool loaded = false;
    bool accused = false;
    Time next_check{};
    int without_state = 0;  // checks in a row
  };
  struct Card {
    Bytes peak = 0, budget = kUnlimitedBytes;
  };
  struct Counts {
    std::uint64_t refused = 0, recovered = 0;
  };

  std::vector<pid_t> read_states(const std::vector<TreeProcess>& processes);
  void judge(const TreeProcess& process, bool has_state, Time now);
  bool computes(pid_t pid, Time now);
  void accuse(const TreeProcess& process, Known& known, const char* why);

  std::string folder_;
  std::map<pid_t, Known> known_;
  std::map<std::string, Card> cards_;     // by UUID
  std::map<std::string, Counts> counts_;  // by state file, as last seen
  std::vector<Unguarded> unguarded_;
  NvmlObserver nvml_;
  NvmlView view_;
  Time view_until_{};
};

}  // namespace vramguard
