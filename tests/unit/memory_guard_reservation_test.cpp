// MemoryGuard: the memory that it holds so that neighbours cannot take it.
#include "core/memory_guard.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <memory>
#include <utility>

#include "tests/support/manual_clock.h"
#include "tests/unit/fake_device.h"

namespace vramguard {

TEST_CASE("the reservation is inside the budget") {
  const auto device = std::make_shared<FakeDevice>(4_GiB);
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).reserve_bytes(512_MiB).build();
  CHECK(guard.has_reservation());
  CHECK(guard.stats().reserved == 512_MiB);
  CHECK(guard.stats().used == 0);
  CHECK(device->free_bytes() == 3584_MiB);
  const auto first = guard.safe_alloc<char>(512_MiB);
  CHECK(guard.stats().reserved == 512_MiB);
  const auto second = guard.safe_alloc<char>(512_MiB);  // out of the reservation
  CHECK(guard.stats().reserved == 0);
  CHECK_THROWS_AS(guard.safe_alloc<char>(1), BudgetExceeded);
  CHECK(device->used() == 1_GiB);
}

TEST_CASE("of a reservation only as much is given back as a request needs") {
  const auto device = std::make_shared<FakeDevice>(4_GiB);
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).reserve_bytes(512_MiB).build();
  const auto first = guard.safe_alloc<char>(512_MiB);
  const auto second = guard.safe_alloc<char>(100_MiB);
  CHECK(guard.stats().reserved == 512_MiB - 128_MiB);
  CHECK(guard.stats().oom_recoveries == 1);
}

TEST_CASE("a reservation helps where a neighbour has filled the device") {
  const auto device = std::make_shared<FakeDevice>(4_GiB);
  MemoryGuard guard = MemoryGuardBuilder(device).reserve_bytes(1_GiB).build();
  device->neighbour_takes(3_GiB);
  const auto buffer = guard.safe_alloc<char>(256_MiB);
  CHECK(guard.stats().reserved == 768_MiB);
  CHECK_THROWS_AS(guard.safe_alloc<char>(1_GiB), OutOfDeviceMemory);
  CHECK(guard.stats().reserved == 768_MiB);  // all of it would not have helped
}

TEST_CASE("a reservation takes what there is, and the rest when there is room for it") {
  ManualClock clock;
  const auto device = std::make_shared<FakeDevice>(4_GiB);
  device->neighbour_takes(4_GiB - 200_MiB);
  MemoryGuard guard = MemoryGuardBuilder(device).reserve_bytes(512_MiB).clock(clock).build();
  CHECK(guard.stats().reserved == 192_MiB);
  device->neighbour_gives(2_GiB);
  (void)guard.safe_alloc<char>(1);
  CHECK(guard.stats().reserved == 512_MiB);
}

TEST_CASE("what was given back is taken again when there has been room for five seconds") {
  ManualClock clock;
  const auto device = std::make_shared<FakeDevice>(4_GiB);
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).reserve_bytes(512_MiB).clock(clock).build();
  auto large = guard.safe_alloc<char>(1_GiB);
  CHECK_FALSE(guard.has_reservation());
  guard.free(std::move(large));
  CHECK_FALSE(guard.has_reservation());
  clock.advance(std::chrono::milliseconds(4900));
  (void)guard.safe_alloc<char>(1);
  CHECK_FALSE(guard.has_reservation());
  clock.advance(std::chrono::milliseconds(100));
  (void)guard.safe_alloc<char>(1);
  CHECK(guard.stats().reserved == 512_MiB);
}

TEST_CASE("a released reservation is released once and for good") {
  ManualClock clock;
  const auto device = std::make_shared<FakeDevice>(4_GiB);
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).reserve_bytes(100_MiB).clock(clock).build();
  CHECK(guard.release_reservation() == 100_MiB);
  CHECK(guard.release_reservation() == 0);
  CHECK_FALSE(guard.has_reservation());
  CHECK(device->chunks() == 0);
  clock.advance(std::chrono::hours(1));
  CHECK_NOTHROW(guard.safe_alloc<char>(1_GiB));
  CHECK_FALSE(guard.has_reservation());
  MemoryGuard without = MemoryGuardBuilder(device).build();
  CHECK_FALSE(without.has_reservation());
  CHECK(without.release_reservation() == 0);
}

}  // namespace vramguard
