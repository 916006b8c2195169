#include "core/state/group_share.h"

#include <algorithm>
#include <chrono>

#include "core/futex.h"
#include "core/state/group_membership.h"
#include "core/state/liveness.h"

namespace vramguard {
namespace {

using std::chrono::microseconds;

// How long a request waits for calls of others that are under way and may leave room for it.
constexpr std::chrono::milliseconds kPatience{10};
constexpr microseconds kFirstPause{5}, kLongestPause{500};

// Two that have met go on at different times: by their places.
microseconds pause_of(std::size_t place, unsigned round) noexcept {
  const microseconds longest = std::min(kFirstPause * (1U << std::min(round, 7U)), kLongestPause);
  const auto step = static_cast<microseconds::rep>((place * 7 + round * 3) % 8);
  return longest * (step + 1) / 8;
}

}  // namespace

bool GroupShare::admit(Bytes bytes, Bytes limit) const noexcept {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (unsigned round = 0;; ++round) {
    const Traffic before = traffic();
    const Bytes announced = own().announced.fetch_add(bytes) + bytes;
    const Bytes others = others_announced();
    if (announced <= limit && others <= limit - announced) return true;
    own().announced.fetch_sub(bytes);
    own().tries.fetch_add(1);
    // Nobody was in the middle of anything: what was added up is there to stay.
    const Traffic after = traffic();
    const bool settled = before.under_way == 0 && after.under_way == 0 && before.passed + 1 == after.passed;
    if (bury_dead(*group_, group_->members[place_].pid_namespace)) continue;
    const MonotonicTime now = std::chrono::steady_clock::now();
    if (settled || now >= deadline) return false;
    // Not a sleep, which is a place of cancellation.
    std::atomic<std::uint32_t> nobody_wakes{0};
    futex_wait(nobody_wakes, 0, now + pause_of(place_, round));
  }
}

GroupShare::Traffic GroupShare::traffic() const noexcept {
  Traffic all;
  for (std::size_t i = 0; i < places_of(*group_); ++i) {
    const MemberNumbers& numbers = numbers_of(i);
    const std::uint64_t calls = numbers.calls.load();
    all.under_way += static_cast<std::uint32_t>(calls);
    all.passed += (calls >> 32) + numbers.tries.load();
  }
  all.under_way -= std::min<std::uint64_t>(all.under_way, 1);
  return all;
}

bool GroupShare::alone() const noexcept {
  for (std::size_t i = 0; i < places_of(*group_); ++i) {
    if (i != place_ && !is_free(group_->members[i].alive)) return false;
  }
  return true;
}

bool GroupShare::take(std::atomic<std::uint32_t>& role) const noexcept {
  std::uint32_t nobody = 0;
  const auto mine = static_cast<std::uint32_t>(place_) + 1;
  return role.compare_exchange_strong(nobody, mine) || nobody == mine;
}

void GroupShare::leave(std::atomic<std::uint32_t>& role) const noexcept {
  auto mine = static_cast<std::uint32_t>(place_) + 1;
  role.compare_exchange_strong(mine, 0);
}

GroupSlot* GroupShare::other_sentinel_holder() const noexcept {
  const std::uint32_t holder = group_->devices[device_].sentinel.load();
  if (holder == 0 || holder > kGroupMembers || holder - 1 == place_) return nullptr;
  return &group_->members[holder - 1];
}

}  // namespace vramguard
