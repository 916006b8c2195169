// The guard of one device: admits requests against the budget and keeps the books of what they really took.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/budget.h"
#include "core/bytes.h"
#include "core/clock.h"
#include "core/guard_config.h"
#include "core/page_map.h"
#include "core/pressure.h"
#include "core/pressure_tracker.h"
#include "core/statistics.h"

namespace vramguard {

class MemoryGuard;

// Bytes admitted for one call that has not ended yet. Whatever was not settled is given back by the destructor.
// Belongs to one thread.
class Reservation {
 public:
  Reservation(Reservation&& other) noexcept : guard_(other.guard_), bytes_(other.bytes_), trial_(other.trial_) {
    other.guard_ = nullptr;
    other.bytes_ = 0;
  }
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() { end(); }
  Bytes bytes() const noexcept { return bytes_; }

 private:
  friend class MemoryGuard;
  inline Reservation(MemoryGuard& guard, Bytes bytes) noexcept;
  inline void end() noexcept;
  MemoryGuard* guard_;  // null once it has ended
  Bytes bytes_;
  bool trial_ = false;
};

// Thread-safe. Holds no lock while it calls out. No call allocates memory except the page map's growth.
class MemoryGuard {
 public:
  // `wake` is called, from any thread, when `used` crosses the next pressure boundary or something else asks for
  // evaluate_pressure(); not again before that has been called, but for a race. It must only wake somebody up. May be
  // null.
  using Wake = void (*)(void* context) noexcept;

  // `budget`: bytes, or kUnlimitedBytes. Thresholds are percentages or bytes of that budget.
  MemoryGuard(Bytes budget, Wake wake, void* wake_context) noexcept;
  MemoryGuard(const MemoryGuard&) = delete;
  MemoryGuard& operator=(const MemoryGuard&) = delete;

  // Admits a call whose cost is known beforehand or bounded by `worst`; nullopt when that does not fit.
  std::optional<Reservation> reserve(Bytes worst) noexcept;
  // Admits a linear request of `requested` bytes by its worst case under the page rule. Where only the page that it may
  // share with others could make it fit, this is a trial: one page less is reserved, and settle() decides. One trial
  // at a time, or the device would for a moment be over its budget by one page for each; others can wait_for_calls().
  std::optional<Reservation> reserve_linear(Bytes requested) noexcept;

  // Charges the pages that `range` really took and ends the reservation. False: they do not fit and nothing was
  // charged; the caller must undo the driver's call before it drops the reservation, and refuse.
  bool settle(Reservation& reservation, AddressRange range) noexcept;
  // Charges `range` whether it fits or not: for a record that is put back after a free that the driver refused.
  void put_back(AddressRange range) noexcept;
  // Gives the pages of `range` back. Call after the driver has freed it.
  void release(AddressRange range) noexcept;

  // A free is about to enter the driver / has come back and been released. Between the two, refused requests wait a
  // moment.
  void free_begins() noexcept;
  void free_ends() noexcept;
  // For a request of `requested` bytes that was turned down: true if calls were under way that may leave room for it,
  // frees or reservations of more than is taken in the end, and have ended within `patience_ms`: worth another reserve.
  // Waits for as many to end as were under way at the call, or for what has ended when patience does. Never blocks for
  // longer. The caller must hold no reservation.
  bool wait_for_calls(Bytes requested, int patience_ms) noexcept;

  // What no allocation call shows (contexts, modules, stacks), as last measured. Charged even beyond the budget.
  void set_unseen(Bytes bytes) noexcept;

  void set_budget(Bytes budget) noexcept;  // frees nothing; refuses until use is back under it
  Bytes budget() const noexcept;
  void count_refusal() noexcept;

  // Bytes of linear pages, what is unseen, the two together, what is free of the budget (0 when over it;
  // kUnlimitedBytes without a budget).
  Bytes linear() const noexcept;
  Bytes unseen() const noexcept;
  Bytes used() const noexcept;
  Bytes free() const noexcept;
  // used(), and what calls that have not ended may still take.
  Bytes admitted() const noexcept;
  // No call that takes or gives memory is under way: the books and the device tell the same.
  bool quiet() const noexcept { return calls_under_way_.load() == 0; }
  Statistics::Snapshot stats() const noexcept;
  void reset_peak() noexcept;
  // Faults of the books that were survived: more given back than charged, or edges without memory to count them.
  std::uint64_t inconsistencies() const noexcept;

  // The pressure of this device. Evaluated by the guard's own thread alone (the allocation path only compares `used`
  // with the boundaries and calls `wake`): returns a transition to publish, and sets the boundaries anew.
  std::optional<PressureTransition> evaluate_pressure(MonotonicTime now) noexcept;
  void set_thresholds(const PressureConfig& config) noexcept;  // before the first evaluate_pressure
  void oom_was_returned(MonotonicTime now) noexcept;           // for a request that the whole budget could have held
  // When evaluate_pressure wants to be called again although nothing crosses a boundary (a dwell ends); max() if never.
  // For the thread that evaluates.
  MonotonicTime next_evaluation() const noexcept;
  // As last published. Any thread.
  PressureLevel pressure_level() const noexcept;

 private:
  friend class Reservation;
  std::optional<Reservation> begin_trial(Bytes least) noexcept;
  void call_ends() noexcept;
  bool pay(PageMap::Claim& claim, Reservation& reservation) noexcept;
  void enter_books(Bytes bytes) noexcept;
  void leave_books(Bytes bytes) noexcept;
  void compare_with_boundaries(Bytes used) noexcept;
  void request_wake() noexcept;

  Budget budget_;
  PageMap pages_;
  Statistics statistics_;
  std::atomic<Bytes> linear_{0};

  std::mutex unseen_mutex_;  // keeps two measurements from charging their differences in the wrong order
  std::atomic<Bytes> unseen_{0};

  std::atomic<std::uint32_t> calls_under_way_{0};  // also those whose reservation is empty
  std::atomic<std::uint32_t> calls_ended_{0};
  std::atomic<std::uint32_t> frees_under_way_{0};  // of the calls
  std::atomic<bool> trial_under_way_{false};

  Wake wake_;
  void* wake_context_;
  std::atomic<bool> wake_requested_{false};
  // `used` outside of these asks for an evaluation; before the first one, everything does.
  std::atomic<Bytes> quiet_from_{UINT64_MAX};
  std::atomic<Bytes> quiet_to_{0};
  std::atomic<MonotonicTime::rep> last_oom_;
  std::atomic<PressureLevel> level_{PressureLevel::None};

  // Of the evaluating thread alone.
  PressureConfig thresholds_;
  PressureTracker tracker_;
  MonotonicTime::rep last_oom_seen_;
};

inline Reservation::Reservation(MemoryGuard& guard, Bytes bytes) noexcept : guard_(&guard), bytes_(bytes) {
  guard.calls_under_way_.fetch_add(1);
}

inline void Reservation::end() noexcept {
  if (guard_ == nullptr) return;
  if (bytes_ > 0) guard_->budget_.give_back(bytes_);
  if (trial_) guard_->trial_under_way_.store(false);
  guard_->call_ends();
  guard_ = nullptr;
  bytes_ = 0;
}

}  // namespace vramguard
