// The guard of one device: admits requests against the budget and keeps the books of what they really took.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/budget.h"
#include "core/bytes.h"
#include "core/page_map.h"
#include "core/pressure.h"
#include "core/statistics.h"

namespace vramguard {

// Bytes admitted for one call that has not ended yet. Whatever was not settled is given back by the destructor.
// Belongs to one thread.
class Reservation {
 public:
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation();
  Bytes bytes() const noexcept { return bytes_; }

 private:
  friend class MemoryGuard;
  Reservation(Budget& budget, Bytes bytes) noexcept : budget_(&budget), bytes_(bytes) {}
  Budget* budget_;
  Bytes bytes_;
};

// Thread-safe. Holds no lock while it calls out. No call allocates memory except the page map's growth.
class MemoryGuard {
 public:
  // `wake` is called, from any thread and possibly often, when `used` crosses the next pressure boundary; it must only
  // wake somebody up. May be null.
  using Wake = void (*)(void* context) noexcept;

  // `budget`: bytes, or kUnlimitedBytes. Thresholds are percentages or bytes of that budget.
  MemoryGuard(Bytes budget, Wake wake, void* wake_context) noexcept;
  MemoryGuard(const MemoryGuard&) = delete;

  // Admits a call whose cost is known beforehand or bounded by `worst`; nullopt when that does not fit.
  std::optional<Reservation> reserve(Bytes worst) noexcept;
  // Admits a linear request of `requested` bytes by its worst case under the page rule. Where the worst does not fit but
  // the pages it may share with others could make it fit, the reservation is empty and settle() decides.
  std::optional<Reservation> reserve_linear(Bytes requested) noexcept;

  // Charges the pages that `range` really took. False: they do not fit and nothing was charged; the caller must undo the
  // driver's call and refuse. The reservation is used up either way.
  bool settle(Reservation reservation, AddressRange range) noexcept;
  // Charges `range` whether it fits or not: for a record that is put back after a free that the driver refused.
  void put_back(AddressRange range) noexcept;
  // Gives the pages of `range` back. Call after the driver has freed it.
  void release(AddressRange range) noexcept;

  // A free is about to enter the driver / has come back. Between the two, refused requests wait a moment.
  void free_begins() noexcept;
  void free_ends() noexcept;
  // True if frees were under way and have ended within `patience_ms`: worth another reserve. Never blocks for longer.
  bool wait_for_frees(int patience_ms) noexcept;

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
  Statistics::Snapshot stats() const noexcept;

  // The pressure of this device. Evaluated by the guard's own thread alone (the allocation path only compares `used` with
  // the boundaries and calls `wake`): returns a transition to publish, and sets the boundaries anew.
  std::optional<PressureTransition> evaluate_pressure(MonotonicTime now) noexcept;
  void set_thresholds(const PressureConfig& config) noexcept;  // before the first evaluate_pressure
  void oom_was_returned(MonotonicTime now) noexcept;           // for a request that the whole budget could have held
  // When evaluate_pressure wants to be called again although nothing crosses a boundary (a dwell ends); max() if never.
  MonotonicTime next_evaluation() const noexcept;
};

}  // namespace vramguard
