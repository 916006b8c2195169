// What becomes of a request that nothing made fit, for a full budget and for a full card.
#include "tests/unit/oom_fixture.h"

using namespace vramguard;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

enum class Full { Budget, Card };

// Everything of the budget, or of the card, is taken.
struct FullFixture : OomFixture {
  FullFixture(OomPolicy policy, Full which) : OomFixture(with(policy)), full(which) {
    if (full == Full::Budget) {
      take(2_GiB);
    } else {
      reader.card_free = 0;
    }
  }
  void make_room(Bytes bytes) {
    if (full == Full::Budget) {
      give_back(bytes);
    } else {
      *reader.card_free += bytes;
    }
  }
  std::string scope() const { return full == Full::Budget ? "scope=budget" : "scope=device"; }
  const Full full;
};

}  // namespace

TEST_CASE("fail: returned at the first try", "[oom_policies]") {
  for (const Full full : {Full::Budget, Full::Card}) {
    FullFixture f(OomPolicy::Fail, full);
    REQUIRE(f.ask(100_MiB) == Answer::Refused);
    REQUIRE(f.tries == 1);
    REQUIRE(has(f.only("oom_returned"), f.scope() + " policy=fail attempts=1 wait_ms=0"));
    REQUIRE(f.raw_level() == PressureLevel::Critical);
  }
}

TEST_CASE("retry-after-free: what nobody uses any more is given back once more, then one more try", "[oom_policies]") {
  for (const Full full : {Full::Budget, Full::Card}) {
    FullFixture f(OomPolicy::RetryAfterFree, full);
    f.before_retry = [&] { f.make_room(100_MiB); };
    REQUIRE(f.ask(100_MiB) == Answer::Served);
    REQUIRE(f.tries == 2);
    REQUIRE(has(f.only("oom_recovered"), "by=retry attempts=2"));
    f.before_retry = [] {};
    REQUIRE(f.ask(100_MiB) == Answer::Refused);
    REQUIRE(f.tries == 2);
    REQUIRE(has(f.only("oom_returned"), "policy=retry-after-free attempts=2"));
  }
}

TEST_CASE("retry-after-free trims what a hook has freed into a pool; fail does not", "[oom_policies]") {
  for (const OomPolicy policy : {OomPolicy::RetryAfterFree, OomPolicy::Fail}) {
    OomFixture f(OomFixture::with(policy));
    const PoolHandle pool = 0x77;
    f.guard.pools().add(pool, 0);
    f.device.pools_used = true;
    f.reader.pools[pool] = f.reader.pools_in_use = 2_GiB;
    f.guard.read_bounded(f.device);
    f.add_hook("empties", [&](const HookFacts&) -> Bytes { return f.reader.pools_in_use = 0; });
    REQUIRE(f.ask(1_GiB) == (policy == OomPolicy::Fail ? Answer::Refused : Answer::Served));
  }
}

TEST_CASE("wait-and-retry: room that is made is found, and the wait is told", "[oom_policies]") {
  for (const Full full : {Full::Budget, Full::Card}) {
    FullFixture f(OomPolicy::WaitAndRetry, full);
    const IdleThread other;
    f.before_retry = [&] {
      f.clock.advance(seconds(1));
      if (f.tries == 4) f.make_room(200_MiB);
    };
    REQUIRE(f.ask(100_MiB) == Answer::Served);
    REQUIRE(has(f.only("oom_recovered"), "by=wait attempts=4 hooks=0 wait_ms=3000"));
    REQUIRE(f.records("oom_returned").empty());
    REQUIRE(f.raw_level() != PressureLevel::Critical);
  }
}

TEST_CASE("wait-and-retry gives up at its timeout and not before", "[oom_policies]") {
  for (const Full full : {Full::Budget, Full::Card}) {
    FullFixture f(OomPolicy::WaitAndRetry, full);
    const IdleThread other;
    f.before_retry = [&] { f.clock.advance(seconds(1)); };
    REQUIRE(f.ask(100_MiB) == Answer::Refused);
    REQUIRE(f.tries == 31);
    REQUIRE(has(f.only("oom_returned"), "attempts=31 wait_ms=30000 reason=wait_timeout"));
  }
}

TEST_CASE("time that stands still only keeps a request waiting, and time that leaps only ends the wait",
          "[oom_policies]") {
  FullFixture f(OomPolicy::WaitAndRetry, Full::Card);
  f.before_retry = [&] {
    if (f.tries == 100) f.make_room(100_MiB);
  };
  REQUIRE(f.ask(100_MiB) == Answer::Served);
  REQUIRE(f.tries == 100);
  f.before_retry = [&] { f.clock.advance(hours(24 * 365)); };
  REQUIRE(f.ask(100_MiB) == Answer::Refused);
  REQUIRE(f.tries == 2);
}

TEST_CASE("wait-and-retry gives up at once where nobody can free what is missing", "[oom_policies]") {
  FullFixture f(OomPolicy::WaitAndRetry, Full::Budget);
  SECTION("no other thread") {
    REQUIRE(f.ask(100_MiB) == Answer::Refused);
    REQUIRE(f.tries == 1);
  }
  SECTION("the last other thread ends meanwhile") {
    IdleThread other;
    f.before_retry = [&] { other.end(); };
    REQUIRE(f.ask(100_MiB) == Answer::Refused);
  }
  SECTION("contexts and the like leave no room for it, ever") {
    const IdleThread other;
    f.give_back(2_GiB);
    f.device.memory.add_unseen(1_GiB);
    REQUIRE(f.ask(1500_MiB) == Answer::Refused);
    REQUIRE(f.tries == 1);
  }
  REQUIRE(has(f.only("oom_returned"), "reason=nobody_can_free"));
}

TEST_CASE("requests of one thread for less and less share one deadline", "[oom_policies]") {
  FullFixture f(OomPolicy::WaitAndRetry, Full::Card);
  f.before_retry = [&] { f.clock.advance(seconds(1)); };
  REQUIRE(f.ask(1000_MiB) == Answer::Refused);
  REQUIRE(f.tries == 31);
  for (const Bytes bytes : {900_MiB, 810_MiB, 729_MiB}) {
    f.clock.advance(milliseconds(10));
    REQUIRE(f.ask(bytes) == Answer::Refused);
    REQUIRE(f.tries == 1);
  }
  f.clock.advance(milliseconds(2001));
  REQUIRE(f.ask(656_MiB) == Answer::Refused);
  REQUIRE(f.tries == 31);
}

TEST_CASE("an allocator that asks for less and less is not kept waiting while a smaller request fits",
          "[oom_policies]") {
  OomFixture f(OomFixture::with(OomPolicy::WaitAndRetry, Defer::Always));  // as for JAX
  const IdleThread other;
  f.take(1500_MiB);
  Bytes bytes = 1000_MiB;
  while (f.ask(bytes) == Answer::Refused) {
    REQUIRE(f.tries == 1);
    bytes = bytes * 9 / 10;
  }
  REQUIRE(bytes > 490_MiB);
  REQUIRE(f.records("oom_returned").empty());
}

TEST_CASE("a sentinel helps a request that waits as soon as it is enough", "[oom_policies]") {
  GuardConfig settings = OomFixture::with(OomPolicy::WaitAndRetry);
  settings.sentinel = {64_MiB, false};
  OomFixture f(settings);
  const IdleThread other;
  f.guard.place_sentinel(f.device);
  f.take(2_GiB - 64_MiB);
  f.before_retry = [&] {
    if (f.tries == 2) f.give_back(50_MiB);
  };
  REQUIRE(f.ask(100_MiB) == Answer::Served);
  REQUIRE(f.device.sentinel.held() == 0);
}

TEST_CASE("who waits is woken by a free of another thread, long before the timeout", "[oom_policies]") {
  FullFixture f(OomPolicy::WaitAndRetry, Full::Budget);
  f.set_clock(hours(1));
  std::thread frees([&] {
    while (f.device.memory.stats().refusals == 0) std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds(5));
    f.give_back(100_MiB);
  });
  REQUIRE(f.ask(100_MiB) == Answer::Served);
  frees.join();
}

TEST_CASE("those who wait are served in order, and newcomers that fit go ahead", "[oom_policies]") {
  FullFixture f(OomPolicy::WaitAndRetry, Full::Budget);
  f.set_clock(hours(1));
  const auto wait_for_refusals = [&](std::uint64_t count) {
    while (f.device.memory.stats().refusals < count) std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds(50));  // until it is in the line
  };
  std::atomic<int> served{0};
  std::thread wants_much([&] {
    if (f.ask(100_MiB) == Answer::Served) ++served;
  });
  wait_for_refusals(1);
  std::thread wants_little([&] {
    if (f.ask(50_MiB) == Answer::Served) ++served;
  });
  wait_for_refusals(2);
  f.give_back(60_MiB);
  std::this_thread::sleep_for(milliseconds(20));
  const int served_too_early = served;
  const Answer newcomer = f.ask(10_MiB);
  f.give_back(100_MiB);  // enough for both: the second is woken when the first leaves
  wants_much.join();
  wants_little.join();
  REQUIRE(served_too_early == 0);
  REQUIRE(newcomer == Answer::Served);
  REQUIRE(served == 2);
  REQUIRE(has(f.records("oom_recovered").at(0), "request_bytes=104857600"));
}

TEST_CASE("checkpoint-and-fail: once in a process, then returned; not for what is absurd", "[oom_policies]") {
  for (const Full full : {Full::Budget, Full::Card}) {
    FullFixture f(OomPolicy::CheckpointAndFail, full);
    Bytes asked = 0;
    int runs = 0;
    f.guard.checkpoint().set_callback([&](const HookFacts& facts) {
      ++runs;
      asked = facts.requested;
    });
    REQUIRE(f.ask(1024_GiB) == Answer::Refused);
    REQUIRE(runs == 0);
    REQUIRE(f.ask(100_MiB, {.capturing = true}) == Answer::Refused);
    REQUIRE(runs == 0);
    REQUIRE(f.ask(100_MiB) == Answer::Refused);
    REQUIRE(asked == 100_MiB);
    REQUIRE(f.ask(200_MiB) == Answer::Refused);
    REQUIRE(runs == 1);
    REQUIRE(f.records("oom_returned").size() == 4);
  }
}

TEST_CASE("spill: what can be is served from host memory, up to the limit", "[oom_policies]") {
  for (const Full full : {Full::Budget, Full::Card}) {
    FullFixture f(OomPolicy::Spill, full);
    f.guard.spill().set_limit(300_MiB);
    REQUIRE(f.ask(100_MiB) == Answer::Refused);  // this kind cannot be
    REQUIRE(f.ask(1_MiB - 1, {.can_spill = true}) == Answer::Refused);
    REQUIRE(f.ask(100_MiB, {.can_spill = true}) == Answer::Spilled);
    REQUIRE(f.ask(200_MiB, {.can_spill = true}) == Answer::Spilled);
    REQUIRE(f.tries == 1);
    REQUIRE(f.ask(1_MiB, {.can_spill = true}) == Answer::Refused);
    REQUIRE(has(f.records("oom_returned").back(), "reason=spill_limit"));
    REQUIRE(has(f.records("oom_recovered").back(), "by=spill"));
    REQUIRE(has(f.records("oom_recovered").back(), "spilled_bytes=314572800"));
    REQUIRE(f.device.oom.recovered() == 2);
    f.guard.spill().give_back(100_MiB);
    REQUIRE(f.ask(100_MiB, {.can_spill = true}) == Answer::Spilled);
  }
}

TEST_CASE("spill: more than the whole budget can be had from the host, and what the host has not is returned",
          "[oom_policies]") {
  FullFixture f(OomPolicy::Spill, Full::Budget);
  f.guard.spill().set_limit(10_GiB);
  REQUIRE(f.ask(3_GiB, {.can_spill = true}) == Answer::Spilled);
  OomAttempt attempt(f.device.oom, {.api = "cuMemAlloc_v2", .bytes = 100_MiB, .worst = 100_MiB, .can_spill = true});
  REQUIRE(attempt.failed(RefusalScope::Budget) == OomAttempt::Next::Spill);
  attempt.could_not_spill();
  REQUIRE(has(f.only("oom_returned"), "reason=no_host_memory"));
  REQUIRE(f.guard.spill().admitted() == 3_GiB);
}
