#include "core/ledger.h"

#include <sched.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <thread>
#include <utility>

namespace vramguard {
namespace {

// The first or the last page may be shared. Seen on H200: 230 of 878 requests over 1 MiB took one page less than their
// size rounded up, none took two less or any more.
constexpr Bytes kSharedEdge = kPageBytes;
// Pools are read at the latest when so much more may have been taken: keeps the peak honest, and costs one reading in
// 32 small requests.
constexpr Bytes kMostUnread = 1_GiB;
// How often settle() looks again for a thread that is between two neighbouring steps of its own settle(). Only
// preemption makes that take long: yields first, then sleeps, half a second in all.
constexpr int kYieldRounds = 50;
constexpr int kSleepRounds = 5'000;
constexpr std::chrono::microseconds kSleep(50);

constexpr MonotonicTime::rep kNeverOom = MonotonicTime::min().time_since_epoch().count();

Bytes least_of(Bytes requested) noexcept {
  const Bytes worst = round_up(requested, kPageBytes);
  return worst - std::min(worst, kSharedEdge);
}

}  // namespace

Ledger::Ledger(Bytes budget, Wake wake, void* wake_context) noexcept
    : budget_(budget),
      budget_bytes_(budget),
      wake_(wake),
      wake_context_(wake_context),
      last_oom_(kNeverOom),
      last_oom_seen_(kNeverOom) {}

void Ledger::share_with(const GroupShare& share) noexcept {
  share_ = &share;
  budget_.share_with(share);
  statistics_.count_use_in(share.own().used);
  calls_ = &share.own().calls;
}

// The call begins before it is tried: other members of a group must see that what they add up may not stay.
std::optional<Reservation> Ledger::reserve(Bytes worst) noexcept {
  Reservation reservation(*this);
  if (budget_.try_reserve(worst)) {
    reservation.bytes_ = worst;
    return reservation;
  }
  // Only a size that no device has gets here without a limit; the driver knows what to say to it.
  if (budget_.limit() == kUnlimitedBytes) return reservation;
  reservation.never_was();
  return std::nullopt;
}

std::optional<Reservation> Ledger::reserve_linear(Bytes requested) noexcept {
  if (requested == 0) return Reservation(*this);  // the driver has its own words for that, whatever the budget
  const Bytes worst = round_up(requested, kPageBytes);
  if (auto reservation = reserve(worst)) return reservation;
  return reserve_trial(least_of(requested));
}

std::optional<Reservation> Ledger::reserve_trial(Bytes least) noexcept {
  if (!budget_.would_fit(least) || !begin_trial()) return std::nullopt;
  std::optional<Reservation> reservation = reserve(least);
  if (!reservation) {
    end_trial();
    return std::nullopt;
  }
  reservation->trial_ = true;
  return reservation;
}

bool Ledger::begin_trial() noexcept {
  if (trial_under_way_.exchange(true)) return false;
  if (share_ == nullptr || share_->begin_trial()) return true;
  trial_under_way_.store(false);
  return false;
}

void Ledger::end_trial() noexcept {
  if (share_ != nullptr) share_->end_trial();
  trial_under_way_.store(false);
}

bool Ledger::settle(Reservation& reservation, AddressRange range) noexcept {
  PageMap::Claim claim = pages_.add(range);
  if (!pay(claim, reservation)) {
    leave_linear(pages_.cancel(claim));
    return false;
  }
  const Bytes kept = claim.cost() - pages_.secure(claim);
  reservation.bytes_ -= kept;
  enter_linear(kept);
  statistics_.count_allocation();
  reservation.end();
  return true;
}

bool Ledger::settle(Reservation& reservation, Holder holder, Bytes bytes) noexcept {
  if (bytes > reservation.bytes_) {
    if (!budget_.try_reserve(bytes - reservation.bytes_)) return false;
    reservation.bytes_ = bytes;
  }
  reservation.bytes_ -= bytes;
  held_[static_cast<std::size_t>(holder)].fetch_add(bytes);
  compare_with_boundaries(statistics_.grow(bytes));
  statistics_.count_allocation();
  reservation.end();
  return true;
}

bool Ledger::settle_bound(Reservation& reservation, BoundedHolder holder) noexcept {
  bounded(holder).add(std::exchange(reservation.bytes_, 0));
  if (share_ != nullptr) share_->own().has_bounds.store(1, std::memory_order_relaxed);
  statistics_.count_allocation();
  reservation.end();
  const Bytes may_be_more = unread();
  return may_be_more > kMostUnread || used() + may_be_more > quiet_to_.load(std::memory_order_relaxed);
}

BoundedCharge::Mark Ledger::mark(BoundedHolder holder) const noexcept { return bounded(holder).mark(); }

void Ledger::read(BoundedHolder holder, BoundedCharge::Mark mark, Bytes bytes) noexcept {
  const std::lock_guard lock(measured_mutex_);
  const Bytes known = bounded(holder).known();
  const Bytes bound = known + bounded(holder).unread();
  const BoundedCharge::Change change = bounded(holder).read(mark, bytes);
  remeasured({bound, bound + change.bound}, {known, bytes});
}

// Raises the reservation to the claim's cost.
bool Ledger::pay(PageMap::Claim& claim, Reservation& reservation) noexcept {
  for (int round = 0; claim.cost() > reservation.bytes_; ++round) {
    const Bytes missing = claim.cost() - reservation.bytes_;
    if (budget_.try_reserve(missing)) {
      reservation.bytes_ += missing;
      return true;
    }
    if (round == kYieldRounds + kSleepRounds || !pages_.wait_is_worthwhile(claim)) return false;
    if (claim.cost() > reservation.bytes_) {
      if (round < kYieldRounds) {
        sched_yield();
      } else {
        std::this_thread::sleep_for(kSleep);
      }
    }
    pages_.stop_waiting(claim);
  }
  return true;
}

void Ledger::put_back(AddressRange range) noexcept {
  const PageMap::Claim claim = pages_.add(range);
  budget_.charge(claim.cost());
  const Bytes refund = pages_.secure(claim);
  enter_linear(claim.cost() - refund);
  give_back(refund);
}

void Ledger::put_back(Holder holder, Bytes bytes) noexcept {
  budget_.charge(bytes);
  held_[static_cast<std::size_t>(holder)].fetch_add(bytes);
  compare_with_boundaries(statistics_.grow(bytes));
}

void Ledger::release(Holder holder, Bytes bytes) noexcept {
  held_[static_cast<std::size_t>(holder)].fetch_sub(bytes);
  compare_with_boundaries(statistics_.shrink(bytes));
  give_back(bytes);
  statistics_.count_free();
}

void Ledger::release(AddressRange range) noexcept {
  leave_linear(pages_.remove(range));
  statistics_.count_free();
}

// The budget is charged before and given back after this, so that `used` never exceeds what is admitted.
void Ledger::enter_linear(Bytes bytes) noexcept {
  if (bytes == 0) return;
  linear_.fetch_add(bytes);
  compare_with_boundaries(statistics_.grow(bytes));
}

void Ledger::leave_linear(Bytes bytes) noexcept {
  if (bytes == 0) return;
  linear_.fetch_sub(bytes);
  compare_with_boundaries(statistics_.shrink(bytes));
  give_back(bytes);
}

void Ledger::free_begins() noexcept {
  frees_under_way_.fetch_add(1);
  calls_->fetch_add(kCallBegins);
}

void Ledger::free_ends() noexcept {
  [[maybe_unused]] const std::uint32_t before = frees_under_way_.fetch_sub(1);
  assert(before > 0);
  calls_->fetch_add(kCallEnds);
}

bool Ledger::wait_for_calls(Bytes requested, int patience_ms) noexcept {
  using std::chrono::microseconds;
  const std::uint64_t before = calls_->load();
  const auto ended_in = [](std::uint64_t calls) { return static_cast<std::uint32_t>(calls >> 32); };
  const auto under_way = static_cast<std::uint32_t>(before);
  if (under_way == 0) return false;
  // What is in use stays in use, unless a free is under way.
  if (frees_under_way_.load() == 0 && least_of(requested) > free()) return false;

  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::max(patience_ms, 0));
  for (microseconds pause(20);; pause = std::min(pause * 2, microseconds(500))) {
    const std::uint32_t ended = ended_in(calls_->load()) - ended_in(before);
    if (ended >= under_way) return true;
    const auto left = std::chrono::duration_cast<microseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= microseconds(0)) return ended > 0;
    std::this_thread::sleep_for(std::min(pause, left));
  }
}

void Ledger::set_unseen(Bytes bytes) noexcept {
  const std::lock_guard lock(measured_mutex_);
  change_unseen(bytes);
}

void Ledger::add_unseen(Bytes bytes) noexcept {
  const std::lock_guard lock(measured_mutex_);
  change_unseen(unseen() + bytes);
}

void Ledger::lower_unseen(Bytes bytes) noexcept {
  const std::lock_guard lock(measured_mutex_);
  change_unseen(unseen() - std::min(unseen(), bytes));
}

bool Ledger::replace_unseen(Bytes before, Bytes after) noexcept {
  const std::lock_guard lock(measured_mutex_);
  if (unseen() != before) return false;
  change_unseen(after);
  return true;
}

void Ledger::settle_unseen(Reservation& reservation, Bytes bytes) noexcept {
  {
    const std::lock_guard lock(measured_mutex_);
    const Bytes paid = std::min(bytes, reservation.bytes_);
    reservation.bytes_ -= paid;
    change_unseen(unseen() + bytes, paid);
  }
  statistics_.count_allocation();
  reservation.end();
}

void Ledger::change_unseen(Bytes after, Bytes paid) noexcept {
  const Bytes before = unseen_.exchange(after);
  remeasured({before + paid, after}, {before, after});
}

// What was measured anew: the budget follows whether it fits or not, and `used` never exceeds what is admitted.
void Ledger::remeasured(Step charged, Step used) noexcept {
  if (charged.after > charged.before) budget_.charge(charged.after - charged.before);
  if (used.after > used.before) compare_with_boundaries(statistics_.grow(used.after - used.before));
  if (used.after < used.before) compare_with_boundaries(statistics_.shrink(used.before - used.after));
  if (charged.after < charged.before) give_back(charged.before - charged.after);
}

void Ledger::count_refusal() noexcept { statistics_.count_refusal(); }
Bytes Ledger::linear() const noexcept { return linear_.load(); }
Bytes Ledger::held(Holder holder) const noexcept { return held_[static_cast<std::size_t>(holder)].load(); }
Bytes Ledger::held(BoundedHolder holder) const noexcept { return bounded(holder).known(); }
Bytes Ledger::unread() const noexcept {
  return bounded(BoundedHolder::Pools).unread() + bounded(BoundedHolder::Graphs).unread();
}
Bytes Ledger::unseen() const noexcept { return unseen_.load(); }
Bytes Ledger::seen() const noexcept {
  return linear() + held(Holder::Physical) + held(Holder::Array) + held(BoundedHolder::Pools) +
         held(BoundedHolder::Graphs);
}
Bytes Ledger::used() const noexcept { return statistics_.used(); }
Bytes Ledger::used_by_group() const noexcept { return used() + (share_ != nullptr ? share_->others_used() : 0); }
Bytes Ledger::free() const noexcept { return free_of(budget(), used_by_group()); }
Bytes Ledger::admitted() const noexcept { return budget_.admitted(); }
Statistics::Snapshot Ledger::stats() const noexcept { return statistics_.snapshot(); }
void Ledger::reset_peak() noexcept { statistics_.reset_peak(); }
std::uint64_t Ledger::inconsistencies() const noexcept { return budget_.inconsistencies() + pages_.uncounted(); }

}  // namespace vramguard
