#include "core/ledger.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <random>
#include <thread>

#include "tests/support/manual_clock.h"

using namespace vramguard;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kBase = 0x7fc000000000;

Ledger::Wake const kNoWake = nullptr;

void count_wake(void* wakes) noexcept { ++*static_cast<int*>(wakes); }

bool allocate(Ledger& guard, AddressRange range) {
  auto reservation = guard.reserve_linear(range.bytes);
  return reservation && guard.settle(*reservation, range);
}

}  // namespace

TEST_CASE("the guard wakes its thread once when use crosses a pressure boundary, and not before", "[ledger]") {
  int wakes = 0;
  ManualClock clock;
  Ledger guard(100_MiB, count_wake, &wakes);
  guard.set_thresholds({});
  REQUIRE_FALSE(guard.evaluate_pressure(clock.now()));
  REQUIRE(guard.next_evaluation() == MonotonicTime::max());
  REQUIRE(wakes == 0);

  REQUIRE(allocate(guard, {kBase, 68_MiB}));
  REQUIRE(wakes == 0);
  REQUIRE(allocate(guard, {kBase + 100_MiB, 2_MiB}));  // 30 % free
  REQUIRE(wakes == 1);
  REQUIRE(allocate(guard, {kBase + 200_MiB, 2_MiB}));
  REQUIRE(wakes == 1);
  REQUIRE_FALSE(guard.evaluate_pressure(clock.now()));
  REQUIRE(guard.next_evaluation() == clock.now() + 500ms);
  clock.advance(500ms);
  const auto low = guard.evaluate_pressure(clock.now());
  REQUIRE(low);
  REQUIRE(low->from == PressureLevel::None);
  REQUIRE(low->to == PressureLevel::Low);
  REQUIRE(low->used == 72_MiB);
  REQUIRE(low->free == 28_MiB);
  REQUIRE(low->budget == 100_MiB);
  REQUIRE(guard.pressure_level() == PressureLevel::Low);

  guard.release({kBase + 200_MiB, 2_MiB});  // within the hysteresis
  REQUIRE(wakes == 1);
  guard.release({kBase, 68_MiB});
  REQUIRE(wakes == 2);
}

TEST_CASE("a call in flight is no pressure", "[ledger]") {
  ManualClock clock;
  Ledger guard(100_MiB, kNoWake, nullptr);
  const auto reservation = guard.reserve(100_MiB);
  REQUIRE_FALSE(guard.evaluate_pressure(clock.now()));
  REQUIRE(guard.pressure_level() == PressureLevel::None);
}

TEST_CASE("a returned OOM and a changed budget ask for an evaluation", "[ledger]") {
  int wakes = 0;
  ManualClock clock;
  Ledger guard(100_MiB, count_wake, &wakes);
  guard.evaluate_pressure(clock.now());
  guard.oom_was_returned(clock.now());
  REQUIRE(wakes == 1);
  REQUIRE(guard.evaluate_pressure(clock.now())->to == PressureLevel::Critical);
  REQUIRE(guard.next_evaluation() == clock.now() + 2s);
  clock.advance(2s);
  REQUIRE(guard.evaluate_pressure(clock.now())->to == PressureLevel::None);

  REQUIRE(allocate(guard, {kBase, 4_MiB}));
  guard.set_budget(4_MiB);
  REQUIRE(wakes == 2);
  clock.advance(1s);
  REQUIRE(guard.evaluate_pressure(clock.now())->to == PressureLevel::Critical);
  guard.set_budget(kUnlimitedBytes);
  clock.advance(1s);
  REQUIRE(guard.evaluate_pressure(clock.now())->to == PressureLevel::None);
}

TEST_CASE("evaluating only when woken or due misses no record", "[ledger][fuzz]") {
  std::mt19937_64 random(6);
  ManualClock clock;
  int wakes = 1;
  Ledger guard(1000, count_wake, &wakes);
  PressureTracker eager;
  eager.set_boundaries(compile({}, 1000));
  int records = 0;
  for (int step = 0; step < 50'000; ++step) {
    clock.advance(std::chrono::milliseconds(random() % 100));
    if (random() % 8 == 0) guard.set_unseen(random() % 2 == 0 ? 850 + random() % 200 : random() % 1200);
    if (random() % 500 == 0) {
      guard.oom_was_returned(clock.now());
      eager.oom_returned(clock.now());
    }
    const auto expected = eager.evaluate(clock.now(), guard.free());
    std::optional<PressureTransition> seen;
    if (wakes > 0 || clock.now() >= guard.next_evaluation()) {
      wakes = 0;
      seen = guard.evaluate_pressure(clock.now());
    }
    records += expected ? 1 : 0;
    if (expected.has_value() != seen.has_value() || (expected && expected->to != seen->to)) FAIL("step " << step);
  }
  REQUIRE(records > 200);
}
