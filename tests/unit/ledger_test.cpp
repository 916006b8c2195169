#include "core/ledger.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

using namespace vramguard;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kBase = 0x7fc000000000;

Ledger::Wake const kNoWake = nullptr;

bool allocate(Ledger& guard, AddressRange range) {
  auto reservation = guard.reserve_linear(range.bytes);
  return reservation && guard.settle(*reservation, range);
}

}  // namespace

TEST_CASE("a reservation counts as admitted, not as used, and is given back when it is not settled", "[ledger]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  {
    const auto reservation = guard.reserve(6_MiB);
    REQUIRE(reservation);
    REQUIRE(reservation->bytes() == 6_MiB);
    REQUIRE(guard.admitted() == 6_MiB);
    REQUIRE(guard.used() == 0);
    REQUIRE_FALSE(guard.reserve(5_MiB));
    REQUIRE(guard.free() == 10_MiB);
  }
  REQUIRE(guard.admitted() == 0);
  REQUIRE(guard.reserve(10_MiB));
}

TEST_CASE("the guard is quiet when no call is under way, not even one that reserved nothing", "[ledger]") {
  Ledger guard(4_MiB, kNoWake, nullptr);
  REQUIRE(guard.quiet());
  REQUIRE(allocate(guard, {kBase, 4_MiB}));
  REQUIRE(guard.quiet());
  {
    auto looking = guard.reserve_linear(512);
    REQUIRE(looking->bytes() == 0);
    REQUIRE_FALSE(guard.quiet());
    REQUIRE_FALSE(guard.settle(*looking, {kBase + 10_MiB, 512}));
  }
  REQUIRE(guard.quiet());
  guard.free_begins();
  REQUIRE_FALSE(guard.quiet());
  guard.free_ends();
  REQUIRE(guard.quiet());
}

TEST_CASE("a moved reservation is given back once", "[ledger]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  auto reservation = guard.reserve(6_MiB);
  {
    const Reservation moved(std::move(*reservation));
    reservation.reset();
    REQUIRE(guard.admitted() == 6_MiB);
  }
  REQUIRE(guard.admitted() == 0);
  REQUIRE(guard.inconsistencies() == 0);
}

TEST_CASE("settling charges the pages that were taken and gives the rest back", "[ledger]") {
  Ledger guard(100_MiB, kNoWake, nullptr);
  auto reservation = guard.reserve_linear(3_MiB);
  REQUIRE(reservation->bytes() == 4_MiB);
  REQUIRE(guard.settle(*reservation, {kBase, 3_MiB}));
  REQUIRE(guard.used() == 4_MiB);
  REQUIRE(guard.admitted() == 4_MiB);

  REQUIRE(allocate(guard, {kBase + 3_MiB, 512}));  // in the tail
  REQUIRE(guard.used() == 4_MiB);
  REQUIRE(guard.admitted() == 4_MiB);
  REQUIRE(guard.free() == 96_MiB);

  guard.release({kBase, 3_MiB});
  REQUIRE(guard.used() == 2_MiB);
  guard.release({kBase + 3_MiB, 512});
  REQUIRE(guard.used() == 0);
  REQUIRE(guard.admitted() == 0);
  const Statistics::Snapshot stats = guard.stats();
  REQUIRE(stats.peak == 4_MiB);
  REQUIRE(stats.allocations == 2);
  REQUIRE(stats.frees == 2);
}

TEST_CASE("a range that takes more than was reserved is paid if that fits", "[ledger]") {
  Ledger guard(8_MiB, kNoWake, nullptr);
  REQUIRE(allocate(guard, {kBase + 512, 4_MiB}));  // 3 pages for a worst case of 2
  REQUIRE(guard.used() == 6_MiB);
  REQUIRE(guard.admitted() == 6_MiB);
  REQUIRE_FALSE(allocate(guard, {kBase + 100_MiB + 512, 2_MiB}));
  REQUIRE(guard.used() == 6_MiB);
  REQUIRE(guard.admitted() == 6_MiB);
}

TEST_CASE("a request that may share pages with others is decided by looking", "[ledger]") {
  Ledger guard(4_MiB, kNoWake, nullptr);
  REQUIRE(allocate(guard, {kBase, 2_MiB + 512}));

  SECTION("a small one that lands in a page that is there succeeds with nothing free") {
    auto reservation = guard.reserve_linear(1_MiB);
    REQUIRE(reservation);
    REQUIRE(reservation->bytes() == 0);
    REQUIRE(guard.settle(*reservation, {kBase + 2_MiB + 512, 1_MiB}));
  }
  SECTION("one that takes a new page is refused and leaves no trace") {
    auto reservation = guard.reserve_linear(512);
    REQUIRE(reservation);
    REQUIRE_FALSE(guard.settle(*reservation, {kBase + 10_MiB, 512}));
    guard.release({kBase, 2_MiB + 512});
    REQUIRE(guard.admitted() == 0);
    REQUIRE(allocate(guard, {kBase + 10_MiB, 512}));
    REQUIRE(guard.used() == 2_MiB);
    return;
  }
  SECTION("a large one may share one page, no more") {
    guard.set_budget(8_MiB);
    REQUIRE(guard.reserve_linear(6_MiB)->bytes() == 4_MiB);
    REQUIRE_FALSE(guard.reserve_linear(6_MiB + 1));
  }
  SECTION("one at a time, until it is undone") {
    {
      auto trial = guard.reserve_linear(512);
      REQUIRE_FALSE(guard.settle(*trial, {kBase + 10_MiB, 512}));
      REQUIRE_FALSE(guard.reserve_linear(512));
      REQUIRE_FALSE(guard.wait_for_calls(512, 0));
    }
    REQUIRE(guard.reserve_linear(512));
    REQUIRE(guard.quiet());
  }
  REQUIRE(guard.used() == 4_MiB);
  REQUIRE(guard.admitted() == 4_MiB);
}

TEST_CASE("requests near 2^64 are refused by a budget and left to the driver without one", "[ledger]") {
  for (const Bytes huge : {Bytes{UINT64_MAX}, UINT64_MAX - 1, UINT64_MAX - 2_MiB, Bytes{1} << 63}) {
    Ledger limited(8_MiB, kNoWake, nullptr);
    REQUIRE(allocate(limited, {kBase, 4_MiB}));
    REQUIRE_FALSE(limited.reserve(huge));
    REQUIRE_FALSE(limited.reserve_linear(huge));
    REQUIRE(limited.admitted() == 4_MiB);

    Ledger unlimited(kUnlimitedBytes, kNoWake, nullptr);
    REQUIRE(allocate(unlimited, {kBase, 4_MiB}));
    REQUIRE(unlimited.reserve(huge));
    REQUIRE(unlimited.reserve_linear(huge));
    REQUIRE(unlimited.admitted() == 4_MiB);
  }
}

TEST_CASE("a request of 0 bytes is the driver's to refuse", "[ledger]") {
  Ledger guard(1_MiB, kNoWake, nullptr);
  guard.set_unseen(2_MiB);
  REQUIRE(guard.reserve_linear(0)->bytes() == 0);
  REQUIRE_FALSE(guard.reserve_linear(1));
}

TEST_CASE("what no call shows is charged beyond the budget, and refuses requests until it shrinks", "[ledger]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  guard.set_unseen(8_MiB);
  REQUIRE(allocate(guard, {kBase, 512}));
  REQUIRE(guard.unseen() == 8_MiB);
  REQUIRE(guard.linear() == 2_MiB);
  REQUIRE(guard.used() == 10_MiB);
  guard.set_unseen(30_MiB);
  REQUIRE(guard.used() == 32_MiB);
  REQUIRE(guard.free() == 0);
  REQUIRE_FALSE(guard.reserve_linear(512));
  guard.set_unseen(4_MiB);
  REQUIRE(guard.used() == 6_MiB);
  REQUIRE(guard.admitted() == 6_MiB);
  REQUIRE(guard.reserve(4_MiB));
}

TEST_CASE("a free that the driver refused is charged again, whether it fits or not", "[ledger]") {
  Ledger guard(4_MiB, kNoWake, nullptr);
  const AddressRange range{kBase, 3_MiB};
  REQUIRE(allocate(guard, range));
  guard.release(range);
  REQUIRE(allocate(guard, {kBase + 100_MiB, 4_MiB}));
  guard.put_back(range);
  REQUIRE(guard.used() == 8_MiB);
  REQUIRE(guard.admitted() == 8_MiB);
  REQUIRE_FALSE(guard.reserve_linear(512));
  guard.release(range);
  REQUIRE(guard.used() == 4_MiB);
}

TEST_CASE("a budget can be lowered below use, raised and removed", "[ledger]") {
  Ledger guard(kUnlimitedBytes, kNoWake, nullptr);
  REQUIRE(guard.free() == kUnlimitedBytes);
  REQUIRE(allocate(guard, {kBase, 8_MiB}));
  guard.set_budget(6_MiB);
  REQUIRE(guard.used() == 8_MiB);
  REQUIRE(guard.free() == 0);
  REQUIRE_FALSE(guard.reserve_linear(512));
  guard.set_budget(12_MiB);
  REQUIRE(guard.free() == 4_MiB);
  REQUIRE(allocate(guard, {kBase + 20_MiB, 4_MiB}));
  guard.set_budget(kUnlimitedBytes);
  REQUIRE(allocate(guard, {kBase + 30_MiB, 100_MiB}));
}

TEST_CASE("refusals are counted and the peak can be reset", "[ledger]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  REQUIRE(allocate(guard, {kBase, 8_MiB}));
  guard.release({kBase, 8_MiB});
  guard.count_refusal();
  REQUIRE(guard.stats().refusals == 1);
  REQUIRE(guard.stats().peak == 8_MiB);
  guard.reset_peak();
  REQUIRE(guard.stats().peak == 0);
}

TEST_CASE("a refused request waits for frees that are under way, and never beyond its patience", "[ledger]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  REQUIRE(allocate(guard, {kBase, 10_MiB}));
  REQUIRE_FALSE(guard.wait_for_calls(4_MiB, 1'000'000));
  guard.free_begins();
  REQUIRE_FALSE(guard.wait_for_calls(4_MiB, 0));
  REQUIRE_FALSE(guard.wait_for_calls(4_MiB, -1));
  REQUIRE_FALSE(guard.wait_for_calls(4_MiB, 1));
  guard.free_begins();
  std::thread other([&] {
    guard.free_ends();
    guard.free_ends();
  });
  // Which it sees depends on which thread is first: both still under way, one, or none any more.
  const bool saw_them = guard.wait_for_calls(4_MiB, 60'000);
  other.join();
  REQUIRE((saw_them || !guard.wait_for_calls(4_MiB, 60'000)));
  REQUIRE_FALSE(guard.wait_for_calls(4_MiB, 60'000));
}

TEST_CASE("a refused request waits for another call that may leave it room, not for one that cannot", "[ledger]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  REQUIRE(allocate(guard, {kBase, 4_MiB}));
  auto other = guard.reserve_linear(4_MiB);
  REQUIRE_FALSE(guard.reserve_linear(6_MiB));
  // What is in use leaves 6 MiB, and the last page might be shared.
  REQUIRE_FALSE(guard.wait_for_calls(8_MiB + 1, 1'000'000));
  REQUIRE_FALSE(guard.wait_for_calls(UINT64_MAX, 1'000'000));
  REQUIRE_FALSE(guard.wait_for_calls(8_MiB, 1));
  std::thread([&] { other.reset(); }).join();
  REQUIRE_FALSE(guard.wait_for_calls(6_MiB, 1'000'000));
  REQUIRE(guard.reserve_linear(6_MiB));
}
