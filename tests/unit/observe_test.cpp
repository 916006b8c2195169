// `mode = "observe"`: everything is told and nothing done.
#include "tests/unit/oom_fixture.h"

using namespace vramguard;

namespace {

GuardConfig observing() {
  GuardConfig config = OomFixture::with(OomPolicy::WaitAndRetry, Defer::Always);
  config.mode = Mode::Observe;
  config.sentinel = {256_MiB, false};
  config.sentinel_required = true;
  return config;
}

}  // namespace

TEST_CASE("while observing nothing is refused, and no sentinel is held", "[observe]") {
  OomFixture f(observing());
  REQUIRE(f.guard.place_sentinel(f.device));
  REQUIRE(f.reader.chunks.empty());
  REQUIRE(f.ask(5_GiB) == Answer::Served);
  REQUIRE(f.device.memory.used() == 5_GiB);
  REQUIRE(f.device.memory.would_be_short_of(1_MiB) == 1_MiB);
}

TEST_CASE("what would be refused is told as observed, with what is short", "[observe]") {
  OomFixture f(observing());
  f.take(1_GiB);
  REQUIRE(f.device.memory.would_be_short_of(1_GiB) == 0);
  REQUIRE(f.device.memory.would_be_short_of(1_GiB + 2_MiB) == 2_MiB);
  f.guard.would_be_refused(f.device, {.api = "cuMemAlloc_v2", .bytes = 1_GiB + 2_MiB, .worst = 1_GiB + 2_MiB});
  REQUIRE(has(f.only("oom_refused"), "request_bytes=1075838976 short_bytes=2097152 scope=budget observed=1"));
  REQUIRE(f.device.memory.stats().refusals == 1);
}

TEST_CASE("what the card has no room for is refused by the driver, at once and without hooks", "[observe]") {
  OomFixture f(observing());
  int runs = 0;
  f.add_hook("never", [&](const HookFacts&) -> Bytes { return ++runs; });
  f.reader.card_free = 1_GiB;
  REQUIRE(f.ask(2_GiB) == Answer::Refused);
  REQUIRE(f.tries == 1);
  REQUIRE(runs == 0);
}

TEST_CASE("while observing, leave_free is told as well", "[observe]") {
  GuardConfig config = observing();
  config.leave_free = Bytes{4_GiB};
  OomFixture f(config, kUnlimitedBytes);
  f.reader.card_free = 5_GiB;
  f.guard.look_at_card(f.device, &DeviceReader::free_bytes);
  REQUIRE(f.device.memory.would_be_short_of(2_GiB) == 1_GiB);
  f.guard.would_be_refused(f.device, {.api = "cuMemAlloc_v2", .bytes = 2_GiB, .worst = 2_GiB});
  REQUIRE(has(f.only("oom_refused"), "scope=leave_free observed=1"));
  REQUIRE(f.ask(2_GiB) == Answer::Served);
}
