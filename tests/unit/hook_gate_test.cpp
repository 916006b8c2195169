#include "core/hook_gate.h"

#include <catch2/catch.hpp>

#include "tests/support/manual_clock.h"

namespace vramguard {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Skip = std::optional<HookSkip>;

struct Gate {
  explicit Gate(HookEvent on = HookEvent::Pressure) { hook.on = on; }
  Skip begin(PressureLevel level = PressureLevel::High, Bytes headroom = 1_GiB) {
    return gate.begin(hook, clock.now(), level, headroom);
  }
  // A whole run, where it may run.
  Skip run(bool succeeds = true, PressureLevel level = PressureLevel::High) {
    const Skip skip = begin(level);
    if (!skip) gate.end(clock.now(), succeeds);
    return skip;
  }

  ManualClock clock;
  HookConfig hook;
  HookGate gate;
};

TEST_CASE("a hook runs again when its cooldown is over, counted from the start of its run", "[hook]") {
  Gate gate;
  REQUIRE(gate.begin() == std::nullopt);
  gate.clock.advance(seconds(4));
  gate.gate.end(gate.clock.now(), true);
  gate.clock.advance(seconds(11) - milliseconds(1));
  CHECK(gate.run() == HookSkip::Cooldown);
  gate.clock.advance(milliseconds(1));
  CHECK(gate.run() == std::nullopt);
  CHECK(gate.gate.runs() == 2);
}

TEST_CASE("a level above that of the last run does not wait for the cooldown, the same and a lower one do", "[hook]") {
  Gate gate;
  REQUIRE(gate.run(true, PressureLevel::Medium) == std::nullopt);
  CHECK(gate.run(true, PressureLevel::Medium) == HookSkip::Cooldown);
  CHECK(gate.run(true, PressureLevel::Low) == HookSkip::Cooldown);
  CHECK(gate.run(true, PressureLevel::High) == std::nullopt);
  CHECK(gate.run(true, PressureLevel::Critical) == std::nullopt);
  CHECK(gate.run(true, PressureLevel::Critical) == HookSkip::Cooldown);
  CHECK(gate.run(true, PressureLevel::High) == HookSkip::Cooldown);
}

TEST_CASE("only pressure can be above a level, and oom hooks have no cooldown", "[hook]") {
  for (const HookEvent event : {HookEvent::OomReturned, HookEvent::Budget}) {
    Gate gate(event);
    REQUIRE(gate.run(true, PressureLevel::Low) == std::nullopt);
    CHECK(gate.run(true, PressureLevel::Critical) == HookSkip::Cooldown);
  }
  Gate oom(HookEvent::Oom);
  for (int i = 0; i < 5; ++i) CHECK(oom.run() == std::nullopt);
}

TEST_CASE("ten thousand changes of pressure in a minute run a hook once in a cooldown", "[hook]") {
  Gate gate;
  int runs = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (!gate.run()) ++runs;
    gate.clock.advance(milliseconds(6));
  }
  CHECK(runs == 4);
}

TEST_CASE("a hook of mode once has one run, however that ends", "[hook]") {
  for (const bool succeeds : {true, false}) {
    Gate gate(HookEvent::Oom);
    gate.hook.once = true;
    REQUIRE(gate.run(succeeds) == std::nullopt);
    gate.clock.advance(minutes(60));
    CHECK(gate.run() == HookSkip::Once);
  }
}

TEST_CASE("a skip uses up neither the one run nor the cooldown", "[hook]") {
  Gate gate;
  gate.hook.once = true;
  gate.hook.overhead = 2_GiB;
  CHECK(gate.begin(PressureLevel::High, 2_GiB - 1) == HookSkip::Overhead);
  CHECK(gate.gate.runs() == 0);
  CHECK_FALSE(gate.gate.running());
  CHECK(gate.begin(PressureLevel::High, 2_GiB) == std::nullopt);
}

TEST_CASE("a hook that runs is not started again", "[hook]") {
  Gate gate(HookEvent::Oom);
  REQUIRE(gate.begin() == std::nullopt);
  CHECK(gate.gate.running());
  CHECK(gate.begin() == HookSkip::Running);
  gate.gate.end(gate.clock.now(), true);
  CHECK(gate.begin() == std::nullopt);
}

TEST_CASE("three failures in a row hold a hook back for 30 s, each further one for twice as long, up to 10 min",
          "[hook]") {
  Gate gate(HookEvent::Oom);
  for (int i = 0; i < 3; ++i) REQUIRE(gate.run(false) == std::nullopt);
  for (const seconds hold :
       {seconds(30), seconds(60), seconds(120), seconds(240), seconds(480), seconds(600), seconds(600)}) {
    CAPTURE(hold.count());
    gate.clock.advance(hold - milliseconds(1));
    CHECK(gate.run(false) == HookSkip::BackOff);
    gate.clock.advance(milliseconds(1));
    CHECK(gate.run(false) == std::nullopt);
  }
  CHECK(gate.gate.failures() == 10);
}

TEST_CASE("one success forgives all failures", "[hook]") {
  Gate gate(HookEvent::Oom);
  for (int i = 0; i < 2; ++i) REQUIRE(gate.run(false) == std::nullopt);
  REQUIRE(gate.run(true) == std::nullopt);
  for (int i = 0; i < 3; ++i) CHECK(gate.run(false) == std::nullopt);
  CHECK(gate.run() == HookSkip::BackOff);
  gate.clock.advance(seconds(30));
  REQUIRE(gate.run(true) == std::nullopt);
  for (int i = 0; i < 3; ++i) REQUIRE(gate.run(false) == std::nullopt);
  gate.clock.advance(seconds(30));
  CHECK(gate.run() == std::nullopt);  // from 30 s again
}

TEST_CASE("a higher level does not get a hook past its back-off", "[hook]") {
  Gate gate;
  gate.hook.cooldown = milliseconds(0);
  for (int i = 0; i < 3; ++i) REQUIRE(gate.run(false, PressureLevel::Low) == std::nullopt);
  CHECK(gate.run(true, PressureLevel::Critical) == HookSkip::BackOff);
}

TEST_CASE("a clock that an administrator sets changes no cooldown", "[hook]") {
  Gate gate;
  REQUIRE(gate.run() == std::nullopt);
  gate.clock.set_wall(gate.clock.wall() + std::chrono::hours(24));
  CHECK(gate.run() == HookSkip::Cooldown);
}

}  // namespace
}  // namespace vramguard
