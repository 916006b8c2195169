#include "core/pressure_tracker.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <random>

#include "tests/support/manual_clock.h"

using namespace vramguard;
using namespace std::chrono_literals;

namespace {

using Level = PressureLevel;

// Free bytes in per mille of a budget of 1,000 bytes: low 300, medium 100, high 50, hysteresis 50.
struct Scene {
  ManualClock clock;
  PressureTracker tracker;
  std::optional<PressureTransition> last;

  Scene() { tracker.set_boundaries(compile({}, 1000)); }

  Level at(std::chrono::milliseconds after, Bytes free) {
    clock.advance(after);
    last = tracker.evaluate(clock.now(), free);
    if (last) REQUIRE(last->to == tracker.published());
    return tracker.published();
  }
  void oom() { tracker.oom_returned(clock.now()); }
  std::chrono::milliseconds until_deadline() const {
    if (tracker.next_deadline() == MonotonicTime::max()) return std::chrono::milliseconds::max();
    return std::chrono::duration_cast<std::chrono::milliseconds>(tracker.next_deadline() - clock.now());
  }
};

constexpr auto kNever = std::chrono::milliseconds::max();

}  // namespace

TEST_CASE("low and medium are entered when free has been at their threshold for 500 ms", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 301) == Level::None);
  REQUIRE(scene.until_deadline() == kNever);
  REQUIRE(scene.at(1000ms, 300) == Level::None);
  REQUIRE(scene.until_deadline() == 500ms);
  REQUIRE(scene.at(499ms, 300) == Level::None);
  REQUIRE(scene.at(1ms, 300) == Level::Low);
  REQUIRE(scene.last->from == Level::None);
  REQUIRE(scene.last->free == 300);
  REQUIRE(scene.last->budget == 1000);

  REQUIRE(scene.at(1000ms, 100) == Level::Low);
  REQUIRE(scene.at(499ms, 51) == Level::Low);
  REQUIRE(scene.at(1ms, 51) == Level::Medium);
  REQUIRE(scene.last->from == Level::Low);
}

TEST_CASE("a short dip below a low threshold is no pressure", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 250) == Level::None);
  REQUIRE(scene.at(400ms, 301) == Level::None);
  REQUIRE(scene.at(100ms, 250) == Level::None);
  REQUIRE(scene.at(499ms, 250) == Level::None);
  REQUIRE(scene.at(1ms, 250) == Level::Low);
}

TEST_CASE("high and critical are entered at once", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 51) == Level::None);
  REQUIRE(scene.at(0ms, 50) == Level::High);
  REQUIRE(scene.last->from == Level::None);
  REQUIRE(scene.at(1ms, 1) == Level::High);
  REQUIRE_FALSE(scene.last);
  REQUIRE(scene.at(0ms, 0) == Level::Critical);
}

TEST_CASE("a level is left when free has been above its threshold and the hysteresis for 2 s", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 50) == Level::High);
  REQUIRE(scene.at(0ms, 100) == Level::High);
  REQUIRE(scene.until_deadline() == kNever);
  REQUIRE(scene.at(10'000ms, 100) == Level::High);
  REQUIRE(scene.at(0ms, 101) == Level::High);
  REQUIRE(scene.until_deadline() == 2000ms);
  REQUIRE(scene.at(1999ms, 101) == Level::High);
  REQUIRE(scene.at(0ms, 100) == Level::High);  // starts the 2 s anew
  REQUIRE(scene.at(1ms, 101) == Level::High);
  REQUIRE(scene.at(1999ms, 101) == Level::High);
  REQUIRE(scene.at(1ms, 101) == Level::Medium);
  REQUIRE(scene.last->from == Level::High);
}

TEST_CASE("a fall goes straight to the right level in one record", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 0) == Level::Critical);
  SECTION("none") {
    REQUIRE(scene.at(300ms, 900) == Level::Critical);
    REQUIRE(scene.at(2000ms, 900) == Level::None);
    REQUIRE(scene.last->from == Level::Critical);
    REQUIRE(scene.until_deadline() == kNever);
  }
  SECTION("low") {
    REQUIRE(scene.at(300ms, 281) == Level::Critical);
    REQUIRE(scene.at(2000ms, 281) == Level::Low);
  }
  SECTION("the level that its own hysteresis still holds") {
    REQUIRE(scene.at(300ms, 350) == Level::Critical);
    REQUIRE(scene.at(2000ms, 350) == Level::Low);
    REQUIRE(scene.at(60'000ms, 350) == Level::Low);
    REQUIRE(scene.at(0ms, 351) == Level::Low);
    REQUIRE(scene.at(2000ms, 351) == Level::None);
  }
  SECTION("each level's 2 s run for themselves") {
    REQUIRE(scene.at(300ms, 160) == Level::Critical);
    REQUIRE(scene.at(1000ms, 400) == Level::Critical);
    REQUIRE(scene.at(1000ms, 400) == Level::Low);
    REQUIRE(scene.at(1000ms, 400) == Level::None);
  }
}

TEST_CASE("an OOM that was returned is critical for 2 s from the last one", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 900) == Level::None);
  scene.oom();
  REQUIRE(scene.at(0ms, 900) == Level::Critical);
  REQUIRE(scene.until_deadline() == 2000ms);
  REQUIRE(scene.at(1500ms, 900) == Level::Critical);
  scene.oom();
  REQUIRE(scene.at(0ms, 900) == Level::Critical);
  REQUIRE_FALSE(scene.last);
  REQUIRE(scene.at(1999ms, 900) == Level::Critical);
  REQUIRE(scene.at(1ms, 900) == Level::None);
}

TEST_CASE("after an OOM critical also lasts until more than the hysteresis is free", "[pressure]") {
  Scene scene;
  scene.oom();
  REQUIRE(scene.at(0ms, 50) == Level::Critical);
  REQUIRE(scene.at(10'000ms, 50) == Level::Critical);
  REQUIRE(scene.at(0ms, 51) == Level::Critical);
  REQUIRE(scene.at(2000ms, 51) == Level::High);
}

TEST_CASE("an OOM brings back the level that was held before it, not a lower one", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 49) == Level::High);
  REQUIRE(scene.at(5000ms, 99) == Level::High);
  scene.oom();
  REQUIRE(scene.at(0ms, 99) == Level::Critical);
  REQUIRE(scene.at(2000ms, 99) == Level::High);
}

TEST_CASE("there is at most one record in 250 ms, and critical does not wait for that", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 300) == Level::None);
  REQUIRE(scene.at(500ms, 300) == Level::Low);
  REQUIRE(scene.at(1ms, 50) == Level::Low);
  REQUIRE_FALSE(scene.last);
  REQUIRE(scene.until_deadline() == 249ms);
  SECTION("the record comes when the 250 ms are over") {
    REQUIRE(scene.at(248ms, 50) == Level::Low);
    REQUIRE(scene.at(1ms, 50) == Level::High);
    REQUIRE(scene.last->from == Level::Low);
  }
  SECTION("critical comes at once, and as one jump") {
    REQUIRE(scene.at(1ms, 0) == Level::Critical);
    REQUIRE(scene.last->from == Level::Low);
  }
}

TEST_CASE("without a budget there is no pressure", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 0) == Level::Critical);
  scene.tracker.set_boundaries(compile({}, kUnlimitedBytes));
  scene.oom();
  REQUIRE(scene.at(300ms, kUnlimitedBytes) == Level::None);
  REQUIRE(scene.until_deadline() == kNever);
  REQUIRE(scene.tracker.quiet_range().least == 0);
  REQUIRE(scene.tracker.quiet_range().most == UINT64_MAX);
  scene.tracker.set_boundaries(compile({}, 1000));
  REQUIRE(scene.at(300ms, 900) == Level::None);
}

TEST_CASE("a changed budget is judged by its own thresholds", "[pressure]") {
  Scene scene;
  REQUIRE(scene.at(0ms, 400) == Level::None);
  scene.tracker.set_boundaries(compile({}, 600));
  REQUIRE(scene.at(0ms, 0) == Level::Critical);
  scene.tracker.set_boundaries(compile({}, 2000));
  REQUIRE(scene.at(0ms, 1400) == Level::Critical);
  REQUIRE(scene.at(2000ms, 1400) == Level::None);
}

// The allocation path and the guard's thread look only when the tracker tells them to. They must miss nothing.
TEST_CASE("evaluating only at deadlines and outside the quiet range gives the same records", "[pressure][fuzz]") {
  std::mt19937_64 random(5);
  ManualClock clock;
  PressureTracker eager;
  PressureTracker lazy;
  std::uint64_t records = 0;
  std::uint64_t skipped = 0;
  for (PressureTracker* tracker : {&eager, &lazy}) tracker->set_boundaries(compile({}, 1000));
  Bytes free = 1000;
  for (int step = 0; step < 200'000; ++step) {
    clock.advance(std::chrono::milliseconds(random() % 40));
    if (random() % 30 == 0) free = random() % 8 == 0 ? 0 : random() % (random() % 2 == 0 ? 120 : 500);
    const bool oom = random() % 2000 == 0;
    if (oom) {
      for (PressureTracker* tracker : {&eager, &lazy}) tracker->oom_returned(clock.now());
    }
    const auto expected = eager.evaluate(clock.now(), free);
    const PressureTracker::QuietRange quiet = lazy.quiet_range();
    std::optional<PressureTransition> seen;
    if (oom || free < quiet.least || free > quiet.most || clock.now() >= lazy.next_deadline() || step == 0) {
      seen = lazy.evaluate(clock.now(), free);
    } else {
      ++skipped;
    }
    records += expected ? 1 : 0;
    const bool same = expected.has_value() == seen.has_value() &&
                      (!expected || (expected->from == seen->from && expected->to == seen->to));
    if (!same) FAIL("step " << step);
  }
  REQUIRE(records > 1000);
  REQUIRE(skipped > 100'000);
}
