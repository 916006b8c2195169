// The budget of pinned host memory, and what is pinned.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include <tsl/robin_map.h>

#include "core/budget.h"

namespace vramguard {

// Thread-safe. No exception leaves.
class PinnedMemory {
 public:
  explicit PinnedMemory(Bytes limit) noexcept : budget_(limit) {}

  bool limited() const noexcept { return budget_.limit() != kUnlimitedBytes; }
  Bytes limit() const noexcept { return budget_.limit(); }
  Bytes used() const noexcept { return budget_.admitted(); }
  bool reserve(Bytes bytes) noexcept { return budget_.try_reserve(bytes); }
  void give_back(Bytes bytes) noexcept { budget_.give_back(bytes); }
  // What was reserved and is pinned now. False: no memory to note it.
  bool add(std::uint64_t address, Bytes bytes) noexcept;
  std::optional<Bytes> take(std::uint64_t address) noexcept;

 private:
  Budget budget_;
  std::mutex mutex_;  // pinning costs tens of microseconds: one lock does
  tsl::robin_map<std::uint64_t, Bytes> pinned_;
};

}  // namespace vramguard
