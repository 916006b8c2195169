#include "core/state/group_membership.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/state/liveness.h"
#include "core/state/process_identity.h"
#include "core/state/state_text.h"

namespace vramguard {
namespace {

// The kernel marks a member dead before it closes the device, which is what frees its memory.
constexpr std::int64_t kBetweenDeathAndBurialMs = 800;

std::int64_t now_ms() noexcept {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void clear(GroupFile& group, std::size_t place) noexcept {
  GroupSlot& slot = group.members[place];
  const auto role = static_cast<std::uint32_t>(place) + 1;
  for (std::size_t i = 0; i < kGroupDevices; ++i) {
    GroupDevice& device = group.devices[i];
    for (std::atomic<std::uint32_t>* held : {&device.trial, &device.sentinel}) {
      std::uint32_t by = role;
      held->compare_exchange_strong(by, 0);
    }
    MemberNumbers& numbers = slot.devices[i];
    numbers.settle_done.store(numbers.settle_asked.load());
    numbers.has_bounds.store(0);
    numbers.sentinel_asked.store(0);
    numbers.sentinel.store(0);
    numbers.used.store(0);
    // What was in the middle of something is settled now, for those who compare.
    numbers.tries.fetch_add(1);
    numbers.calls.store(numbers.calls.load() >> 32 << 32);
    numbers.announced.store(0);
  }
  slot.died_at.store(0);
}

bool memory_is_free(GroupSlot& slot, std::uint64_t own_namespace) noexcept {
  const bool visible = slot.pid_namespace == own_namespace && own_namespace != 0;
  if (visible && is_gone(slot.pid, slot.start_ticks)) return true;
  const std::int64_t now = now_ms();
  std::int64_t noticed = 0;
  slot.died_at.compare_exchange_strong(noticed, now);
  return noticed != 0 && now - noticed >= kBetweenDeathAndBurialMs;
}

}  // namespace

std::variant<std::size_t, StateProblem> join_group(GroupFile& group, const std::string& name) noexcept try {
  const ProcessIdentity self = identity_of_this_process();
  bury_dead(group, self.pid_namespace);
  for (std::size_t place = 0; place < kGroupMembers; ++place) {
    GroupSlot& slot = group.members[place];
    if (!is_free(slot.alive)) continue;
    const Mark mark = take_mark(slot.alive);
    if (mark == Mark::Held) continue;
    if (mark == Mark::TakenFromDead) clear(group, place);
    slot.died_at.store(0);
    slot.pid = self.pid;
    slot.start_ticks = self.start_ticks;
    slot.pid_namespace = self.pid_namespace;
    set_state_text(slot.name, name);
    auto used = group.places_used.load();
    while (used < place + 1 && !group.places_used.compare_exchange_weak(used, static_cast<std::uint32_t>(place) + 1)) {
    }
    // What was set for those before is not for those who come after them.
    if (live_members(group) == 1) {
      for (GroupDevice& device : group.devices) device.budget.store(0);
    }
    return place;
  }
  return StateProblem{"the group has " + std::to_string(kGroupMembers) + " members already"};
} catch (...) {
  return StateProblem{"no memory"};
}

bool bury_dead(GroupFile& group, std::uint64_t own_pid_namespace) noexcept {
  bool any = false;
  for (std::size_t place = 0; place < places_of(group); ++place) {
    GroupSlot& slot = group.members[place];
    if (is_free(slot.alive) || is_held(slot.alive) || !memory_is_free(slot, own_pid_namespace)) continue;
    const Mark mark = take_mark(slot.alive);
    if (mark == Mark::Held) continue;
    if (mark == Mark::TakenFromDead) {  // else another member was faster
      clear(group, place);
      any = true;
    }
    leave_mark(slot.alive);
  }
  return any;
}

}  // namespace vramguard
