// What no call shows: measured, replaced, and charged whether it fits or not.
#include "core/ledger.h"

#include <catch2/catch.hpp>

#include "tests/unit/ledger_fixture.h"

using namespace vramguard;

TEST_CASE("what no call shows is charged whether it fits or not, and never below nothing", "[ledger][holders]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  guard.set_unseen(4_MiB);
  guard.add_unseen(8_MiB);
  REQUIRE(guard.unseen() == 12_MiB);
  REQUIRE(guard.used() == 12_MiB);
  REQUIRE(guard.seen() == 0);
  REQUIRE(guard.over_budget());
  guard.lower_unseen(2_MiB);
  REQUIRE(guard.admitted() == 10_MiB);
  guard.lower_unseen(100_MiB);
  REQUIRE(guard.unseen() == 0);
  REQUIRE(guard.admitted() == 0);
  REQUIRE(guard.inconsistencies() == 0);
}

TEST_CASE("what is unseen is replaced only where it is still what it was", "[ledger][holders]") {
  Ledger guard(100_MiB, kNoWake, nullptr);
  guard.set_unseen(4_MiB);
  REQUIRE_FALSE(guard.replace_unseen(5_MiB, 50_MiB));
  REQUIRE(guard.used() == 4_MiB);
  REQUIRE(guard.replace_unseen(4_MiB, 50_MiB));
  REQUIRE(guard.used() == 50_MiB);
  REQUIRE(guard.admitted() == 50_MiB);
}

TEST_CASE("a call settled as unseen pays from its reservation, and the rest whether it fits or not",
          "[ledger][holders]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  auto reservation = guard.reserve(4_MiB);
  const Bytes bytes = GENERATE(0_MiB, 2_MiB, 4_MiB, 12_MiB);
  guard.settle_unseen(*reservation, bytes);
  REQUIRE(guard.quiet());
  REQUIRE(guard.unseen() == bytes);
  REQUIRE(guard.used() == bytes);
  REQUIRE(guard.admitted() == bytes);
  REQUIRE(guard.over_budget() == (bytes > 10_MiB));
  REQUIRE(guard.stats().allocations == 1);
}

TEST_CASE("calls that end are counted, so that one that came and went is noticed", "[ledger][holders]") {
  Ledger guard(10_MiB, kNoWake, nullptr);
  const auto before = guard.calls_ended();
  REQUIRE(guard.reserve(0));
  REQUIRE(guard.calls_ended() == before + 1);
  REQUIRE(take(guard, Holder::Array, 2_MiB));
  REQUIRE(guard.calls_ended() == before + 2);
  guard.free_begins();
  REQUIRE(guard.calls_ended() == before + 2);
  guard.free_ends();
  REQUIRE(guard.calls_ended() == before + 3);
}
