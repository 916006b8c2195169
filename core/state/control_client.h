// Asks a running guarded process, through its private file, to change its limits.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

#include "core/bytes.h"
#include "core/state/control_block.h"
#include "core/state/state_folder.h"

namespace vramguard {

// What is asked for. A plain value.
struct ControlRequest {
  std::uint32_t what = 0;              // ControlAsk
  Bytes budget_bytes = kStateUnknown;  // for kAskBudget; kStateUnknown: none
  std::string device;                  // UUID; "" for all
  std::string policy;                  // for kAskPolicy, as the configuration spells it
};

// What the process said to it.
struct ControlAnswer {
  bool done;
  std::string text;  // what was not done; may hold anything (printable)
};

// The process's own clock of patience: it answers within about a millisecond unless it is stopped.
inline constexpr std::chrono::milliseconds kControlPatience{100};

// The private file at `path` must be `owner`'s, and the caller that user or root. Waits up to `patience` for others who
// ask the same process, and as long again for its answer. A request that was not answered is withdrawn. Thread-safe;
// opens files, so that on a thread of the program it needs an Undisturbed.
std::variant<ControlAnswer, StateProblem> ask_process(const std::string& path, uid_t owner,
                                                      const ControlRequest& request,
                                                      std::chrono::milliseconds patience = kControlPatience) noexcept;

}  // namespace vramguard
