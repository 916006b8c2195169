// This process as a member of a group: what it does for the others, and what it asks of them.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "core/guard.h"
#include "core/signal_sender.h"
#include "core/state/group_membership.h"
#include "core/state/liveness.h"

namespace vramguard {

namespace {

// What others take changes our pressure, and nobody tells us.
constexpr auto kBetweenLooks = std::chrono::milliseconds(250);
// How long a request waits for the others to do what it asks of them.
constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr auto kPause = std::chrono::microseconds(200);

// Until `done`, or for as long as we have patience. True if it is done.
template <typename Done>
bool wait_for(Done&& done) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace

MonotonicTime Guard::serve_group(MonotonicTime now) noexcept {
  if (!presence_.in_group()) return MonotonicTime::max();
  bury_dead(*presence_.group(), presence_.state()->pid_namespace);
  for (GuardedDevice& device : devices_) {
    const GroupShare* share = device.memory.share();
    if (share == nullptr) continue;
    MemberNumbers& own = share->own();
    if (const std::uint32_t asked = own.settle_asked.load(); asked != own.settle_done.load()) {
      read_bounded(device);
      own.settle_done.store(asked);
    }
    if (const Bytes asked = own.sentinel_asked.exchange(0); asked > 0) device.sentinel.release(asked, device);
  }
  return now + kBetweenLooks;
}

bool Guard::ask_group_to_settle(GuardedDevice& device) noexcept {
  const GroupShare* share = device.memory.share();
  if (share == nullptr) return false;
  const Bytes before = share->others_announced();
  const bool any = bury_dead(share->group(), presence_.state()->pid_namespace);
  std::array<std::pair<MemberNumbers*, std::uint32_t>, kGroupMembers> asked;
  std::size_t count = 0;
  share->for_each_other([&](GroupSlot& slot) {
    if (!is_held(slot.alive)) return;
    MemberNumbers& numbers = slot.devices[share->device()];
    if (numbers.has_bounds.load() == 0 || numbers.announced.load() <= numbers.used.load() + numbers.sentinel.load())
      return;
    asked[count++] = {&numbers, numbers.settle_asked.fetch_add(1) + 1};
    Presence::wake_member(presence_.folder(), slot);
  });
  wait_for([&] {
    return std::all_of(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(count), [](const auto& one) {
      return static_cast<std::int32_t>(one.first->settle_done.load() - one.second) >= 0;
    });
  });
  return any || share->others_announced() < before;
}

// A member in another pid namespace has a number that means nothing here.
SendResult Guard::send_to_group(const SignalAction& action, int value) noexcept {
  if (!presence_.in_group()) return SendResult::NoTarget;
  const std::uint64_t own_namespace = presence_.state()->pid_namespace;
  SendResult result = SendResult::NoTarget;
  for (const GroupSlot& slot : presence_.group()->members) {
    if (!is_held(slot.alive) || slot.pid_namespace != own_namespace) continue;
    SignalAction to_one = action;
    to_one.target = SignalTarget::Self;
    const SendResult sent = slot.pid == presence_.state()->pid
                                ? send_signal(to_one, value)
                                : send_signal_to(slot.pid, slot.start_ticks, action, value);
    if (result != SendResult::Sent) result = sent;
  }
  return result;
}

bool Guard::ask_group_for_sentinel(GuardedDevice& device, Bytes bytes) noexcept {
  const GroupShare* share = device.memory.share();
  GroupSlot* holder = share != nullptr ? share->other_sentinel_holder() : nullptr;
  if (holder == nullptr || !is_held(holder->alive)) return false;
  MemberNumbers& numbers = holder->devices[share->device()];
  const Bytes before = numbers.sentinel.load();
  if (before < bytes) return false;
  Bytes asked = numbers.sentinel_asked.load();
  while (asked < bytes && !numbers.sentinel_asked.compare_exchange_weak(asked, bytes)) {
  }
  Presence::wake_member(presence_.folder(), *holder);
  return wait_for([&] { return numbers.sentinel.load() + bytes <= before; });
}

}  // namespace vramguard
