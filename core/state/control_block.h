// How another process of the same user changes a guarded one while it runs: the content of its private file.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "core/state/process_state.h"

namespace vramguard {

inline constexpr char kControlMagic[8] = {'V', 'G', 'C', 'T', 'R', 'L', '0', '\n'};

// What the guard's thread sleeps on. Whoever sets it to kWoken wakes the sleepers if it was kAsleep.
enum WakeWord : std::uint32_t { kAwake, kAsleep, kWoken };

// What is asked for, any of them together.
enum ControlAsk : std::uint32_t {
  kAskBudget = 1,  // budget_bytes for `device`
  kAskPolicy = 2,  // `policy` for all devices
  kAskReload = 4,  // read the configuration again
};

// One who asks holds a flock of the file, fills in the request, raises `asked`, and wakes the thread. The process
// answers and sets `answered` to it: at most about a millisecond later, unless it is stopped.
struct ControlBlock {
  char magic[8];
  std::uint32_t version;          // kStateVersion
  std::uint32_t bytes;            // of this struct
  std::uint32_t wake;             // WakeWord
  std::uint32_t asked, answered;  // numbers of requests, modulo 2^32
  std::uint32_t what;             // ControlAsk
  std::uint64_t budget_bytes;     // kStateUnknown: none. A share of a device is the asker's affair.
  char device[64];                // UUID; "" for all
  char policy[24];
  std::uint32_t done;  // 1: all of it; 0: `answer` says what was not
  char answer[512];
};
static_assert(std::is_trivially_copyable_v<ControlBlock> && std::is_standard_layout_v<ControlBlock>);
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

}  // namespace vramguard
