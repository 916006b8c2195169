#include "core/bounded_charge.h"

#include <catch2/catch.hpp>

using namespace vramguard;

namespace {

Bytes bound(const BoundedCharge& charge) { return charge.known() + charge.unread(); }

}  // namespace

TEST_CASE("what calls may have taken is bounded until the driver is asked", "[bounded_charge]") {
  BoundedCharge charge;
  charge.add(32_MiB);
  charge.add(64_MiB);
  REQUIRE(charge.known() == 0);
  REQUIRE(charge.unread() == 96_MiB);

  const BoundedCharge::Change change = charge.read(charge.mark(), 40_MiB);
  REQUIRE(change.known == 40_MiB);
  REQUIRE(change.bound == Bytes{0} - 56_MiB);
  REQUIRE(charge.known() == 40_MiB);
  REQUIRE(charge.unread() == 0);
}

TEST_CASE("what was taken after the mark stays on top of what the driver said", "[bounded_charge]") {
  BoundedCharge charge;
  charge.add(32_MiB);
  const BoundedCharge::Mark mark = charge.mark();
  charge.add(64_MiB);  // the driver may have counted it already, or not
  charge.read(mark, 90_MiB);
  REQUIRE(charge.known() == 90_MiB);
  REQUIRE(charge.unread() == 64_MiB);
  charge.read(charge.mark(), 90_MiB);
  REQUIRE(charge.unread() == 0);
}

TEST_CASE("readings that come in another order than their marks keep the bound", "[bounded_charge]") {
  BoundedCharge charge;
  const BoundedCharge::Mark early = charge.mark();
  charge.add(64_MiB);
  charge.read(charge.mark(), 64_MiB);
  charge.read(early, 0);  // asked before the 64 MiB were taken
  REQUIRE(bound(charge) == 64_MiB);
}

TEST_CASE("the changes that readings tell add up to what is known and bounded", "[bounded_charge]") {
  BoundedCharge charge;
  Bytes known = 0, total = 0;
  for (const Bytes bytes : {0_MiB, 100_MiB, 30_MiB, 0_MiB, 200_MiB}) {
    charge.add(50_MiB);
    total += 50_MiB;
    const BoundedCharge::Mark mark = charge.mark();
    charge.add(10_MiB);
    total += 10_MiB;
    const BoundedCharge::Change change = charge.read(mark, bytes);
    known += change.known;
    total += change.bound;
    REQUIRE(known == bytes);
    REQUIRE(total == bytes + 10_MiB);
    REQUIRE(bound(charge) == total);
  }
}

TEST_CASE("the sum of all that was ever asked for may exceed 64 bits", "[bounded_charge]") {
  BoundedCharge charge;
  for (int i = 0; i < 5; ++i) {
    charge.add(Bytes{1} << 63);
    charge.read(charge.mark(), 2_MiB);
  }
  charge.add(32_MiB);
  REQUIRE(charge.known() == 2_MiB);
  REQUIRE(charge.unread() == 32_MiB);
}
