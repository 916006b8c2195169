// The run of the oom hooks that concurrent refusals on a device share.
#pragma once

#include <atomic>
#include <cstddef>

#include "core/futex.h"

namespace vramguard {

// Thread-safe. No lock is held during a round.
class HookRound {
 public:
  // True for the one thread that runs the hooks; it must end() the round.
  bool try_begin() noexcept { return !under_way_.exchange(true); }
  // A hook has ended: worth a try for all.
  void hook_ended() noexcept { next_step(); }
  // Another thread may go on with the hook at `place`, if this one did not need it.
  void end(std::size_t place) noexcept {
    stopped_at_.store(place);
    under_way_.store(false);
    next_step();
  }
  std::size_t stopped_at() const noexcept { return stopped_at_.load(); }

  std::uint32_t step() const noexcept { return steps_.load(); }
  // Until the next step after `seen`, at the latest until `until`.
  void wait(std::uint32_t seen, MonotonicTime until) noexcept { futex_wait(steps_, seen, until); }

 private:
  void next_step() noexcept {
    steps_.fetch_add(1);
    futex_wake_all(steps_);
  }

  std::atomic<bool> under_way_{false};
  std::atomic<std::size_t> stopped_at_{0};
  std::atomic<std::uint32_t> steps_{0};
};

}  // namespace vramguard
