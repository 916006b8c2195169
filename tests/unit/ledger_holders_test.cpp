// Holders other than linear pages: exact ones, and those that only the driver knows.
#include "core/ledger.h"

#include <catch2/catch.hpp>

#include "tests/support/manual_clock.h"
#include "tests/unit/ledger_fixture.h"

using namespace vramguard;

TEST_CASE("a holder whose calls tell what they take is charged just that", "[ledger][holders]") {
  Ledger guard(100_MiB, kNoWake, nullptr);
  REQUIRE(take(guard, Holder::Physical, 32_MiB));
  REQUIRE(take(guard, Holder::Array, 2_MiB));
  auto reservation = guard.reserve(60_MiB);
  REQUIRE(guard.settle(*reservation, Holder::Physical, 8_MiB));
  REQUIRE(reservation->bytes() == 0);
  REQUIRE(guard.held(Holder::Physical) == 40_MiB);
  REQUIRE(guard.held(Holder::Array) == 2_MiB);
  REQUIRE(guard.seen() == 42_MiB);
  REQUIRE(guard.used() == 42_MiB);
  REQUIRE(guard.admitted() == 42_MiB);
  REQUIRE(guard.quiet());

  guard.release(Holder::Physical, 32_MiB);
  guard.put_back(Holder::Array, 2_MiB);
  REQUIRE(guard.held(Holder::Physical) == 8_MiB);
  REQUIRE(guard.held(Holder::Array) == 4_MiB);
  REQUIRE(guard.admitted() == 12_MiB);
  REQUIRE(guard.stats().allocations == 3);
  REQUIRE(guard.stats().frees == 1);
  REQUIRE(guard.stats().peak == 42_MiB);
}

TEST_CASE("a call that took more than was reserved is settled if that fits", "[ledger][holders]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  {
    auto reservation = guard.reserve(4_MiB);
    REQUIRE_FALSE(guard.settle(*reservation, Holder::Array, 12_MiB));
    REQUIRE(guard.admitted() == 4_MiB);
    REQUIRE_FALSE(guard.quiet());
    REQUIRE(guard.settle(*reservation, Holder::Array, 10_MiB));
  }
  REQUIRE(guard.admitted() == 10_MiB);
  REQUIRE(guard.held(Holder::Array) == 10_MiB);
}

TEST_CASE("a put back is charged whether it fits or not", "[ledger][holders]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  guard.put_back(Holder::Physical, 12_MiB);
  REQUIRE(guard.used() == 12_MiB);
  REQUIRE(guard.over_budget());
  REQUIRE_FALSE(guard.reserve(0));
}

TEST_CASE("a bounded holder is charged the worst case until it is read", "[ledger][holders]") {
  Ledger guard(100_MiB, kNoWake, nullptr);
  take(guard, BoundedHolder::Pools, 64_MiB);
  take(guard, BoundedHolder::Graphs, 32_MiB);
  REQUIRE(guard.admitted() == 96_MiB);
  REQUIRE(guard.unread() == 96_MiB);
  REQUIRE(guard.used() == 0);
  REQUIRE(guard.quiet());
  REQUIRE_FALSE(guard.reserve(5_MiB));

  read(guard, BoundedHolder::Pools, 40_MiB);
  REQUIRE(guard.held(BoundedHolder::Pools) == 40_MiB);
  REQUIRE(guard.held(BoundedHolder::Graphs) == 0);
  REQUIRE(guard.seen() == 40_MiB);
  REQUIRE(guard.used() == 40_MiB);
  REQUIRE(guard.unread() == 32_MiB);
  REQUIRE(guard.admitted() == 72_MiB);
  read(guard, BoundedHolder::Graphs, 0);
  REQUIRE(guard.admitted() == 40_MiB);
  read(guard, BoundedHolder::Pools, 0);
  REQUIRE(guard.admitted() == 0);
  REQUIRE(guard.stats().allocations == 2);
  REQUIRE(guard.stats().peak == 40_MiB);
  REQUIRE(guard.inconsistencies() == 0);
}

TEST_CASE("a reading is charged whether it fits or not", "[ledger][holders]") {
  Ledger guard(100_MiB, kNoWake, nullptr);
  read(guard, BoundedHolder::Pools, 120_MiB);
  REQUIRE(guard.admitted() == 120_MiB);
  REQUIRE(guard.used() == 120_MiB);
  REQUIRE(guard.unread() == 0);
  REQUIRE(guard.over_budget());
  REQUIRE(guard.free() == 0);
  read(guard, BoundedHolder::Pools, 100_MiB);
  REQUIRE_FALSE(guard.over_budget());
}

TEST_CASE("a reading does not touch calls under way, nor what ended after its mark", "[ledger][holders]") {
  Ledger guard(200_MiB, kNoWake, nullptr);
  auto under_way = guard.reserve(32_MiB);
  const BoundedCharge::Mark mark = guard.mark(BoundedHolder::Pools);
  take(guard, BoundedHolder::Pools, 64_MiB);
  guard.read(BoundedHolder::Pools, mark, 10_MiB);
  REQUIRE(guard.admitted() == 106_MiB);
  REQUIRE(guard.used() == 10_MiB);
  guard.settle_bound(*under_way, BoundedHolder::Pools);
  REQUIRE(guard.admitted() == 106_MiB);
  read(guard, BoundedHolder::Pools, 10_MiB);
  REQUIRE(guard.admitted() == 10_MiB);
}

TEST_CASE("a reading is due when the bound would cross a pressure boundary or has become loose", "[ledger][holders]") {
  ManualClock clock;
  SECTION("before the first evaluation, always") {
    Ledger guard(100_GiB, kNoWake, nullptr);
    REQUIRE(take(guard, BoundedHolder::Pools, 2_MiB));
  }
  SECTION("a boundary, here 30 % free") {
    Ledger guard(1000_MiB, kNoWake, nullptr);
    guard.evaluate_pressure(clock.now());
    REQUIRE_FALSE(take(guard, BoundedHolder::Pools, 400_MiB));
    REQUIRE_FALSE(take(guard, BoundedHolder::Graphs, 290_MiB));
    REQUIRE(take(guard, BoundedHolder::Pools, 20_MiB));
    read(guard, BoundedHolder::Pools, 10_MiB);
    REQUIRE_FALSE(take(guard, BoundedHolder::Pools, 20_MiB));
  }
  SECTION("loose") {
    Ledger guard(kUnlimitedBytes, kNoWake, nullptr);
    guard.evaluate_pressure(clock.now());
    REQUIRE_FALSE(take(guard, BoundedHolder::Pools, 1_GiB));
    REQUIRE(take(guard, BoundedHolder::Pools, 2_MiB));
    read(guard, BoundedHolder::Pools, 1_GiB);
    REQUIRE_FALSE(take(guard, BoundedHolder::Pools, 2_MiB));
  }
}

TEST_CASE("a trial reserves what is certain, one at a time", "[ledger][holders]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  REQUIRE_FALSE(guard.reserve_trial(11_MiB));
  {
    const auto trial = guard.reserve_trial(0);
    REQUIRE(trial);
    REQUIRE(trial->bytes() == 0);
    REQUIRE_FALSE(guard.quiet());
    REQUIRE(guard.quiet(1));
    REQUIRE_FALSE(guard.reserve_trial(0));
    REQUIRE(guard.reserve(2_MiB));
  }
  auto trial = guard.reserve_trial(10_MiB);
  REQUIRE(trial);
  guard.settle_bound(*trial, BoundedHolder::Pools);
  REQUIRE(guard.unread() == 10_MiB);
  REQUIRE(guard.reserve_trial(0));
  guard.set_unseen(1_MiB);
  REQUIRE_FALSE(guard.reserve_trial(0));
  guard.set_unseen(0);
  REQUIRE(guard.reserve_trial(0));
}

TEST_CASE("the budget is charged before and given back after a change of what is used", "[ledger][holders]") {
  struct Seen {
    Ledger* guard = nullptr;
    Bytes used = 0, admitted = 0;
  } seen;
  const auto note = [](void* context) noexcept {
    auto& at = *static_cast<Seen*>(context);
    at.used = at.guard->used();
    at.admitted = at.guard->admitted();
  };
  ManualClock clock;
  Ledger guard(100_MiB, note, &seen);
  seen.guard = &guard;
  // Each step crosses every boundary, so the guard asks for an evaluation in the middle of it.
  const auto at = [&](auto step) {
    clock.advance(std::chrono::seconds(60));
    guard.evaluate_pressure(clock.now());
    seen.used = seen.admitted = 1;
    step();
    return std::pair(seen.used, seen.admitted);
  };
  const std::pair<Bytes, Bytes> risen(99_MiB, 99_MiB), falling(0, 99_MiB);
  REQUIRE(at([&] { guard.set_unseen(99_MiB); }) == risen);
  REQUIRE(at([&] { guard.set_unseen(0); }) == falling);
  REQUIRE(at([&] { guard.add_unseen(99_MiB); }) == risen);
  REQUIRE(at([&] { guard.lower_unseen(99_MiB); }) == falling);
  REQUIRE(at([&] { read(guard, BoundedHolder::Graphs, 99_MiB); }) == risen);
  REQUIRE(at([&] { read(guard, BoundedHolder::Graphs, 0); }) == falling);
  REQUIRE(at([&] { take(guard, Holder::Physical, 99_MiB); }) == risen);
  REQUIRE(at([&] { guard.release(Holder::Physical, 99_MiB); }) == falling);
  REQUIRE(at([&] { guard.put_back(Holder::Array, 99_MiB); }) == risen);
  REQUIRE(at([&] { guard.release(Holder::Array, 99_MiB); }) == falling);
  std::optional<Reservation> reservation = guard.reserve(2_MiB);
  REQUIRE(at([&] { guard.settle_unseen(*reservation, 99_MiB); }) == risen);
}
