// The books of one device: admits requests against the budget and notes what they really took.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/bounded_charge.h"
#include "core/budget.h"
#include "core/bytes.h"
#include "core/clock.h"
#include "core/guard_config.h"
#include "core/holder.h"
#include "core/page_map.h"
#include "core/pressure.h"
#include "core/pressure_tracker.h"
#include "core/room_signal.h"
#include "core/statistics.h"

namespace vramguard {

class Ledger;

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
  friend class Ledger;
  inline explicit Reservation(Ledger& guard) noexcept;  // a call has begun, of nothing yet
  inline void end() noexcept;
  inline void never_was() noexcept;  // it had no place, and no call has come or gone
  Ledger* guard_;                    // null once it has ended
  Bytes bytes_ = 0;
  bool trial_ = false;
};

// Thread-safe. Holds no lock while it calls out. No call allocates memory except the page map's growth.
class Ledger {
 public:
  // `wake` is called, from any thread, when `used` crosses the next pressure boundary or something else asks for
  // evaluate_pressure(); not again before that has been called, but for a race. It must only wake somebody up. May be
  // null.
  using Wake = void (*)(void* context) noexcept;

  // `budget`: bytes, or kUnlimitedBytes. Thresholds are percentages or bytes of that budget.
  Ledger(Bytes budget, Wake wake, void* wake_context) noexcept;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // From now on the budget is that of the whole group. Before anything is reserved; `share` lives as long as this.
  void share_with(const GroupShare& share) noexcept;
  const GroupShare* share() const noexcept { return share_; }

  // From now on nothing is refused: budget() is only compared with. Before anything is reserved.
  void observe() noexcept;

  // Admits a call whose cost is known beforehand or bounded by `worst`; nullopt when that does not fit.
  std::optional<Reservation> reserve(Bytes worst) noexcept;
  // Admits a linear request of `requested` bytes by its worst case under the page rule. Where only the page that it may
  // share with others could make it fit, this is a trial: one page less is reserved, and settle() decides. One trial
  // at a time, or the device would for a moment be over its budget by one page for each; others can wait_for_calls().
  std::optional<Reservation> reserve_linear(Bytes requested) noexcept;

  // The trial by itself: `least` is what the request takes in any case.
  std::optional<Reservation> reserve_trial(Bytes least) noexcept;

  // Charges the pages that `range` really took and ends the reservation. False: they do not fit and nothing was
  // charged; the caller must undo the driver's call before it drops the reservation, and refuse.
  bool settle(Reservation& reservation, AddressRange range) noexcept;
  // The same for a holder whose calls tell what they take.
  bool settle(Reservation& reservation, Holder holder, Bytes bytes) noexcept;
  // The same for what no call shows: charged whether it fits or not.
  void settle_unseen(Reservation& reservation, Bytes bytes) noexcept;
  // For a holder that only the driver knows: the reservation stays charged until the next read(). True if that is due,
  // because the bound would cross a pressure boundary or has become loose.
  bool settle_bound(Reservation& reservation, BoundedHolder holder) noexcept;
  // Taken before the driver is asked what `holder` has.
  BoundedCharge::Mark mark(BoundedHolder holder) const noexcept;
  // What the driver said after `mark`. Charged whether it fits or not.
  void read(BoundedHolder holder, BoundedCharge::Mark mark, Bytes bytes) noexcept;

  // Charges `range` whether it fits or not: for a record that is put back after a free that the driver refused.
  void put_back(AddressRange range) noexcept;
  void put_back(Holder holder, Bytes bytes) noexcept;
  // Gives the pages of `range` back. Call after the driver has freed it.
  void release(AddressRange range) noexcept;
  void release(Holder holder, Bytes bytes) noexcept;

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
  void add_unseen(Bytes bytes) noexcept;
  void lower_unseen(Bytes bytes) noexcept;  // to 0 at the lowest
  // For a measurement that takes a while: false, and nothing is changed, if it is not `before` any more.
  bool replace_unseen(Bytes before, Bytes after) noexcept;

  // Memory held to be given back when a request needs it: takes its place in the budget, but is not part of used().
  void settle_sentinel(Reservation& reservation) noexcept;  // all that is reserved
  void release_sentinel(Bytes bytes) noexcept;
  Bytes sentinel() const noexcept { return sentinel_.load(); }
  Bytes sentinel_of_group() const noexcept;  // one member of a group holds it
  // Whether this process is the one of its group that holds the sentinel, or becomes it.
  bool may_hold_sentinel() const noexcept { return share_ == nullptr || share_->take_sentinel_role(); }
  void leave_sentinel_role() const noexcept {
    if (share_ != nullptr) share_->leave_sentinel_role();
  }

  void set_budget(Bytes budget) noexcept;  // frees nothing; refuses until use is back under it
  Bytes budget() const noexcept { return budget_bytes_.load(); }
  // What the card allows at this moment, where some of it is to stay free; kUnlimitedBytes: all of it.
  void set_ceiling(Bytes admitted_at_most) noexcept;
  // Whether it is the ceiling, and not the budget, that `bytes` more do not fit under.
  bool ceiling_is_lower(Bytes bytes) const noexcept;
  // What may still be admitted; kUnlimitedBytes without a limit.
  Bytes unreserved() const noexcept;
  // By how much `bytes` more exceed what may be admitted; 0 if they fit.
  Bytes short_of(Bytes bytes) const noexcept;
  // The same where nothing is refused: of what else might be admitted.
  Bytes would_be_short_of(Bytes bytes) const noexcept;
  // Fires whenever something is given back or the limit is raised.
  RoomSignal& room() noexcept { return room_; }
  void count_refusal() noexcept;

  // Bytes of linear pages, of each other holder (of a bounded one as last read), what is unseen, all together; and what
  // is free of the budget (0 when over it; kUnlimitedBytes without a budget), which is the group's.
  Bytes linear() const noexcept;
  Bytes held(Holder holder) const noexcept;
  Bytes held(BoundedHolder holder) const noexcept;
  Bytes unseen() const noexcept;
  Bytes seen() const noexcept;  // used() without it
  Bytes used() const noexcept;
  Bytes used_by_group() const noexcept;  // other members included
  Bytes free() const noexcept;
  // Bounded holders may have taken so much more since they were last read.
  Bytes unread() const noexcept;
  // used() and unread(), and what calls that have not ended may still take.
  Bytes admitted() const noexcept;
  Bytes admitted_by_group() const noexcept;  // other members included
  // More is admitted than the budget allows: what no call shows has grown, or a trial did not fit.
  bool over_budget() const noexcept { return excess() > 0; }
  Bytes excess() const noexcept;
  // No call that takes or gives memory is under way but the caller's own: the books and the device tell the same.
  bool quiet(unsigned own_calls = 0) const noexcept { return static_cast<std::uint32_t>(calls_->load()) == own_calls; }
  // The same at two quiet moments: no such call came and went in between.
  std::uint32_t calls_ended() const noexcept { return static_cast<std::uint32_t>(calls_->load() >> 32); }
  Statistics::Snapshot stats() const noexcept;
  void reset_peak() noexcept;
  // Faults of the books that were survived: more given back than charged, or edges without memory to count them.
  std::uint64_t inconsistencies() const noexcept;

  // The pressure of this device. Evaluated by the guard's own thread alone (the allocation path only compares `used`
  // with the boundaries and calls `wake`): returns a transition to publish, and sets the boundaries anew.
  std::optional<PressureTransition> evaluate_pressure(MonotonicTime now) noexcept;
  void set_thresholds(const PressureConfig& config) noexcept;  // the evaluating thread, or before it
  void oom_was_returned(MonotonicTime now) noexcept;           // for a request that the whole budget could have held
  // When evaluate_pressure wants to be called again although nothing crosses a boundary (a dwell ends); max() if never.
  // For the thread that evaluates.
  MonotonicTime next_evaluation() const noexcept;
  // As last published. Any thread.
  PressureLevel pressure_level() const noexcept;

 private:
  friend class Reservation;
  bool pay(PageMap::Claim& claim, Reservation& reservation) noexcept;
  void enter_linear(Bytes bytes) noexcept;
  void leave_linear(Bytes bytes) noexcept;
  struct Step {
    Bytes before, after;
  };
  void remeasured(Step charged, Step used) noexcept;
  // With measured_mutex_ held. `paid` of the growth is in the budget already.
  void change_unseen(Bytes after, Bytes paid = 0) noexcept;
  BoundedCharge& bounded(BoundedHolder holder) noexcept { return bounded_[static_cast<std::size_t>(holder)]; }
  const BoundedCharge& bounded(BoundedHolder holder) const noexcept {
    return bounded_[static_cast<std::size_t>(holder)];
  }
  void compare_with_boundaries(Bytes used) noexcept;
  void give_back(Bytes bytes) noexcept;
  bool begin_trial() noexcept;
  void end_trial() noexcept;
  void apply_limit() noexcept;
  void request_wake() noexcept;
  void show_sentinel(Bytes bytes) noexcept;

  const GroupShare* share_ = nullptr;
  Budget budget_;  // its limit is the lower of the budget and the ceiling; none while observing
  std::atomic<Bytes> budget_bytes_;
  std::atomic<Bytes> ceiling_{kUnlimitedBytes};
  std::atomic<bool> observing_{false};
  std::atomic<Bytes> sentinel_{0};
  RoomSignal room_;
  PageMap pages_;
  Statistics statistics_;
  std::atomic<Bytes> linear_{0};

  std::array<std::atomic<Bytes>, kHolders> held_{};

  std::mutex measured_mutex_;  // keeps two measurements from charging their differences in the wrong order
  std::array<BoundedCharge, kBoundedHolders> bounded_;
  std::atomic<Bytes> unseen_{0};

  // Calls under way, also those whose reservation is empty (lower half), and calls ended: one step for both.
  static constexpr std::uint64_t kCallBegins = 1;
  static constexpr std::uint64_t kCallEnds = (std::uint64_t{1} << 32) - 1;
  std::atomic<std::uint64_t> own_calls_{0};
  std::atomic<std::uint64_t>* calls_ = &own_calls_;
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
  bool thresholds_changed_ = true;
  PressureTracker tracker_;
  MonotonicTime::rep last_oom_seen_;
};

inline void Ledger::give_back(Bytes bytes) noexcept {
  budget_.give_back(bytes);
  room_.made();
}

inline Reservation::Reservation(Ledger& guard) noexcept : guard_(&guard) {
  guard.calls_->fetch_add(Ledger::kCallBegins);
}

inline void Reservation::never_was() noexcept {
  guard_->calls_->fetch_sub(Ledger::kCallBegins);
  guard_ = nullptr;
}

inline void Reservation::end() noexcept {
  if (guard_ == nullptr) return;
  if (bytes_ > 0) guard_->give_back(bytes_);
  if (trial_) guard_->end_trial();
  guard_->calls_->fetch_add(Ledger::kCallEnds);
  guard_ = nullptr;
  bytes_ = 0;
}

}  // namespace vramguard
