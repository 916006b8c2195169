// One process's part in the budget that its group shares of one device.
#pragma once

#include <atomic>
#include <cstddef>

#include "core/state/group_file.h"

namespace vramguard {

// Thread-safe and lock-free: no process waits for another. A plain value that owns nothing.
//
// Exact although nobody holds a lock: whoever wants bytes announces them first and then adds up what all have
// announced. Of two that want the last bytes at least one sees the other; who does not fit takes its announcement back.
class GroupShare {
 public:
  GroupShare(GroupFile& group, std::size_t place, std::size_t device) noexcept
      : group_(&group), place_(place), device_(device) {}

  MemberNumbers& own() const noexcept { return numbers_of(place_); }

  // Of all other members together. Also of such that have died a moment ago: their memory may not be free yet.
  Bytes others_announced() const noexcept { return sum(&MemberNumbers::announced); }
  Bytes others_used() const noexcept { return sum(&MemberNumbers::used); }
  Bytes others_sentinel() const noexcept { return sum(&MemberNumbers::sentinel); }
  bool alone() const noexcept;  // nobody else is in the group, nor has just died in it

  // Admits `bytes` more, already known to be no more than `limit`. False only if what is settled leaves no room, or the
  // others' calls have not settled within kPatience.
  bool admit(Bytes bytes, Bytes limit) const noexcept;

  // The places that are or were taken, but for our own: void visit(GroupSlot&).
  template <typename Visit>
  void for_each_other(Visit&& visit) const {
    for (std::size_t i = 0; i < places_of(*group_); ++i) {
      if (i != place_) visit(group_->members[i]);
    }
  }

  // One trial at a time in the whole group; a dead member's ends with it.
  bool begin_trial() const noexcept { return take(group_->devices[device_].trial); }
  void end_trial() const noexcept { leave(group_->devices[device_].trial); }
  // One member holds the sentinel.
  bool take_sentinel_role() const noexcept { return take(group_->devices[device_].sentinel); }
  void leave_sentinel_role() const noexcept { leave(group_->devices[device_].sentinel); }
  // Whoever does; nullptr: nobody, or this process.
  GroupSlot* other_sentinel_holder() const noexcept;

  // 0: none was set for the whole group.
  Bytes budget_of_group() const noexcept { return group_->devices[device_].budget.load(); }
  std::size_t device() const noexcept { return device_; }
  GroupFile& group() const noexcept { return *group_; }
  std::size_t place() const noexcept { return place_; }

 private:
  MemberNumbers& numbers_of(std::size_t place) const noexcept { return group_->members[place].devices[device_]; }

  Bytes sum(std::atomic<Bytes> MemberNumbers::*field) const noexcept {
    const std::size_t places = places_of(*group_);
    Bytes bytes = 0;
    for (std::size_t i = 0; i < places; ++i) {
      if (i != place_) bytes += (numbers_of(i).*field).load();
    }
    return bytes;
  }

  bool take(std::atomic<std::uint32_t>& role) const noexcept;
  void leave(std::atomic<std::uint32_t>& role) const noexcept;
  // Calls under way in the whole group, but for one of our own, and a number that changes with each that comes or goes.
  struct Traffic {
    std::uint64_t under_way = 0, passed = 0;
    friend bool operator==(const Traffic&, const Traffic&) = default;
  };
  Traffic traffic() const noexcept;

  GroupFile* group_;
  std::size_t place_, device_;
};

}  // namespace vramguard
