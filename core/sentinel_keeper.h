// The sentinel of one device: memory held in chunks so that neighbours cannot take it, and given back when a request
// needs it.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "core/guard_config.h"
#include "core/oom_host.h"

namespace vramguard {

// Thread-safe, but for tend(): one thread at a time. No lock is held while the driver is called.
class SentinelKeeper {
 public:
  static constexpr Bytes kChunkBytes = 64_MiB;
  // There must have been room for so long before what was given back is taken again.
  static constexpr std::chrono::seconds kPatience{5};
  // How often one that could not be placed is tried again.
  static constexpr std::chrono::seconds kRetry{1};

  SentinelKeeper(DeviceReader& memory, const Sentinel& wanted, const Clock& clock) noexcept
      : memory_(memory), clock_(clock), all_(wanted.all), wanted_bytes_(wanted.bytes) {}
  SentinelKeeper(const SentinelKeeper&) = delete;

  bool wanted() const noexcept { return all_ || wanted_bytes_.load() > 0; }
  Bytes wanted_bytes() const noexcept { return all_ ? kUnlimitedBytes : wanted_bytes_.load(); }
  bool holds_all() const noexcept { return all_; }
  Bytes held() const noexcept { return held_.load(); }

  // For the first time on this device. False as long as what is wanted (of "all": what the budget leaves) was never
  // held.
  bool place(OomHost& host) noexcept;
  // Wants `bytes` from now on, also after let_go(), and takes or gives what that makes; of "all" nothing changes. False
  // where not all of it is held by then.
  bool want(Bytes bytes, OomHost& host) noexcept;
  // Gives back chunks of `bytes` together, or all where that is not enough. False if there were none.
  bool release(Bytes bytes, OomHost& host) noexcept;
  // Gives back what is over the budget: more is charged than it allows, or it was lowered.
  void stay_within(OomHost& host) noexcept;
  // For what is taken whether it fits or not: gives back what it needs, as far as that goes, and keeps the place in the
  // budget. nullopt where there is nothing to give or the budget is full all the same.
  std::optional<Reservation> make_room(Bytes bytes, OomHost& host) noexcept;
  // Of "all": takes what the calling thread has just freed, before a neighbour does.
  void take_freed(OomHost& host) noexcept;
  // All of it and for good. Returns what was given back by this call.
  Bytes let_go(OomHost& host) noexcept;
  // Takes again what there is room for; called now and then. Says when it wants to be called again.
  MonotonicTime tend(OomHost& host) noexcept;

 private:
  struct Piece {
    DeviceReader::Chunk chunk;
    Bytes bytes;
  };

  Bytes target(Ledger& memory) const noexcept;
  // True when the target is reached.
  bool grow(OomHost& host, Bytes target) noexcept;
  bool take_one(OomHost& host, Bytes bytes) noexcept;
  Bytes give_back(Bytes bytes, OomHost& host) noexcept;
  void say(OomHost& host, const char* state, Bytes wanted) noexcept;

  DeviceReader& memory_;
  const Clock& clock_;
  const bool all_;
  std::atomic<Bytes> wanted_bytes_;
  std::atomic<Bytes> held_{0};
  std::atomic<bool> asked_for_{false};  // it is wanted here, by this process or another of its group
  std::atomic<bool> placing_{false};    // or placed already
  std::atomic<bool> placed_{false};
  std::atomic<bool> was_whole_{false};
  std::atomic<bool> let_go_{false};
  std::atomic<bool> taking_freed_{false};

  std::mutex mutex_;
  std::vector<Piece> pieces_;
  std::optional<MonotonicTime> room_since_;  // nullopt: as long as anybody looked
  std::atomic<bool> said_missing_{false};
};

}  // namespace vramguard
