#include "core/sentinel_keeper.h"

#include "tests/unit/oom_fixture.h"

using namespace vramguard;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

struct SentinelFixture : OomFixture {
  explicit SentinelFixture(Sentinel wanted, bool required = false, Bytes budget = 2_GiB)
      : OomFixture(settings(wanted, required), budget) {
    reader.card_free = 12_GiB;
  }
  static GuardConfig settings(Sentinel wanted, bool required) {
    GuardConfig config = with(OomPolicy::Fail);
    config.sentinel = wanted;
    config.sentinel_required = required;
    return config;
  }
  Bytes held() const { return device.sentinel.held(); }
  void tend_after(milliseconds time) {
    clock.advance(time);
    device.sentinel.tend(device);
  }
};

constexpr Sentinel kAll{0, true};

}  // namespace

TEST_CASE("an emergency sentinel is placed once, in chunks inside the budget, and is no use of it", "[sentinel]") {
  SentinelFixture f({200_MiB, false});
  REQUIRE(f.guard.place_sentinel(f.device));
  REQUIRE(f.guard.place_sentinel(f.device));
  REQUIRE(f.held() == 200_MiB);
  REQUIRE(f.reader.chunks.size() == 4);
  REQUIRE(f.device.memory.used() == 0);
  REQUIRE(f.device.memory.free() == 2_GiB);
  REQUIRE(f.device.memory.unreserved() == 2_GiB - 200_MiB);
  REQUIRE(has(f.only("sentinel"), "state=placed sentinel_bytes=209715200 device_free_bytes=12675186688"));
}

TEST_CASE("it is given back only when that makes the request fit, and only as much as is missing", "[sentinel]") {
  SentinelFixture f({256_MiB, false});
  f.guard.place_sentinel(f.device);
  f.take(2_GiB - 256_MiB);
  REQUIRE(f.ask(512_MiB) == Answer::Refused);
  REQUIRE(f.held() == 256_MiB);
  REQUIRE(f.ask(100_MiB) == Answer::Served);
  REQUIRE(f.held() == 128_MiB);
  REQUIRE(f.records("sentinel").size() == 2);
  REQUIRE(has(f.only("oom_recovered"), "by=sentinel"));
  f.take(28_MiB);
  REQUIRE(f.ask(4_KiB) == Answer::Served);
  REQUIRE(f.held() == 64_MiB);
}

TEST_CASE("it is given back for a request that the card itself has no room for", "[sentinel]") {
  SentinelFixture f({256_MiB, false});
  f.guard.place_sentinel(f.device);
  f.reader.card_free = 10_MiB;
  REQUIRE(f.ask(300_MiB) == Answer::Refused);
  REQUIRE(f.held() == 256_MiB);
  REQUIRE(f.ask(50_MiB) == Answer::Served);
  REQUIRE(f.held() == 192_MiB);
}

TEST_CASE("what a neighbour takes of what was given back is made up with more of it", "[sentinel]") {
  for (const Sentinel wanted : {Sentinel{256_MiB, false}, kAll}) {
    SentinelFixture f(wanted);
    f.guard.place_sentinel(f.device);
    const Bytes before = f.held();
    f.reader.card_free = 0;
    f.before_retry = [&] {
      if (f.tries == 2) f.reader.card_free = 0;
    };
    REQUIRE(f.ask(64_MiB) == Answer::Served);
    REQUIRE(f.held() == before - 128_MiB);
  }
}

TEST_CASE("an emergency sentinel that was given back is taken again when there has been room for five seconds",
          "[sentinel]") {
  SentinelFixture f({256_MiB, false});
  f.guard.place_sentinel(f.device);
  f.take(2_GiB - 256_MiB);
  REQUIRE(f.ask(256_MiB) == Answer::Served);
  REQUIRE(f.held() == 0);
  f.tend_after(seconds(60));
  REQUIRE(f.held() == 0);
  f.give_back(256_MiB);
  f.tend_after(milliseconds(4999));
  REQUIRE(f.held() == 0);
  f.take(10_MiB);
  f.tend_after(milliseconds(1));
  REQUIRE(f.held() == 0);  // of an emergency sentinel all must fit
  f.give_back(10_MiB);
  f.tend_after(milliseconds(4999));
  REQUIRE(f.held() == 0);
  f.tend_after(milliseconds(1));
  REQUIRE(f.held() == 256_MiB);
  REQUIRE(has(f.records("sentinel").back(), "state=retaken"));
  REQUIRE(f.device.sentinel.tend(f.device) == MonotonicTime::max());
}

TEST_CASE("one that a neighbour has taken is said to be missing once, and tried again each second", "[sentinel]") {
  SentinelFixture f({128_MiB, false});
  f.guard.place_sentinel(f.device);
  f.take(2_GiB - 128_MiB);
  f.take(128_MiB);
  f.give_back(2_GiB);
  f.reader.card_free = 0;
  f.clock.advance(seconds(5));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(f.device.sentinel.tend(f.device) == f.clock.now() + seconds(1));
    f.clock.advance(seconds(1));
  }
  REQUIRE(f.records("sentinel").size() == 3);
  REQUIRE(has(f.records("sentinel").back(), "lvl=warn"));
  REQUIRE(has(f.records("sentinel").back(), "state=missing sentinel_bytes=0 wanted_bytes=134217728"));
  f.reader.card_free = 1_GiB;
  f.tend_after(seconds(0));
  REQUIRE(f.held() == 128_MiB);
  REQUIRE(has(f.records("sentinel").back(), "state=retaken"));
}

TEST_CASE("one that is required and was never whole is told at each start, until it is", "[sentinel]") {
  SentinelFixture f({128_MiB, false}, true);
  f.reader.card_free = 64_MiB;
  REQUIRE_FALSE(f.guard.place_sentinel(f.device));
  REQUIRE(f.held() == 64_MiB);
  REQUIRE_FALSE(f.guard.place_sentinel(f.device));
  REQUIRE(has(f.only("sentinel"), "state=missing"));
  f.reader.card_free = 12_GiB;
  f.tend_after(seconds(1));
  REQUIRE(f.guard.place_sentinel(f.device));
  f.take(2_GiB - 128_MiB);
  f.take(128_MiB);
  REQUIRE(f.held() == 0);  // given back for a request: no reason to refuse a start
  REQUIRE(f.guard.place_sentinel(f.device));

  SentinelFixture not_required({128_MiB, false});
  not_required.reader.card_free = 0;
  REQUIRE(not_required.guard.place_sentinel(not_required.device));
}

TEST_CASE("the sentinel of all holds the unused budget, shrinks for each request and grows after it", "[sentinel]") {
  SentinelFixture f(kAll);
  f.guard.place_sentinel(f.device);
  REQUIRE(f.held() == 2_GiB);
  REQUIRE(f.device.memory.free() == 2_GiB);
  f.take(100_MiB);
  REQUIRE(f.held() == 2_GiB - 128_MiB);
  f.tend_after(milliseconds(99));
  REQUIRE(f.held() == 2_GiB - 128_MiB);
  f.tend_after(milliseconds(1));
  REQUIRE(f.held() == 2_GiB - 100_MiB);
  f.give_back(100_MiB);
  f.tend_after(milliseconds(0));
  REQUIRE(f.held() == 2_GiB);
  REQUIRE(f.records("oom_refused").empty());
  REQUIRE(f.records("sentinel").size() == 1);  // only that it was placed
}

TEST_CASE("the sentinel of all is not given away for what does not fit all the same", "[sentinel]") {
  SentinelFixture f(kAll);
  f.guard.place_sentinel(f.device);
  f.take(1_GiB);
  for (const Bytes bytes : {Bytes{1_GiB + 1}, Bytes{1024_GiB}}) {
    REQUIRE(f.ask(bytes) == Answer::Refused);
    REQUIRE(f.held() == 1_GiB);
  }
}

TEST_CASE("a card with less free than the budget leaves the sentinel of all with that, and it says so", "[sentinel]") {
  SentinelFixture f(kAll);
  f.reader.card_free = 1_GiB;
  REQUIRE(f.guard.place_sentinel(f.device));
  REQUIRE(f.held() == 1_GiB);
  REQUIRE(has(f.only("sentinel"), "state=missing"));
}

TEST_CASE("without a budget the sentinel of all is none, and one for emergencies is held", "[sentinel]") {
  SentinelFixture all(kAll, false, kUnlimitedBytes);
  all.guard.place_sentinel(all.device);
  REQUIRE(all.held() == 0);
  SentinelFixture some({64_MiB, false}, false, kUnlimitedBytes);
  some.guard.place_sentinel(some.device);
  REQUIRE(some.held() == 64_MiB);
}

TEST_CASE("what is charged beyond the budget, or a lower budget, takes the sentinel's place", "[sentinel]") {
  for (const Sentinel wanted : {Sentinel{1_GiB, false}, kAll}) {
    SentinelFixture f(wanted);
    f.guard.place_sentinel(f.device);
    f.device.memory.add_unseen(1500_MiB);
    f.tend_after(seconds(0));
    REQUIRE_FALSE(f.device.memory.over_budget());
    REQUIRE(f.held() >= 2_GiB - 1500_MiB - 64_MiB);
    f.guard.set_budget(f.device, 1600_MiB);
    REQUIRE_FALSE(f.device.memory.over_budget());
    REQUIRE(f.held() >= 36_MiB);
  }
}

TEST_CASE("a context that is being made finds room in the budget and on the card, and keeps it", "[sentinel]") {
  SentinelFixture f(kAll);
  f.guard.place_sentinel(f.device);
  f.reader.card_free = 0;
  {
    const auto room = f.guard.room_for_context(f.device);
    REQUIRE(room);
    REQUIRE(*f.reader.card_free >= kContextEstimate);
    f.tend_after(seconds(60));
    REQUIRE(f.held() <= 2_GiB - kContextEstimate);
  }
  f.tend_after(seconds(60));
  REQUIRE(f.held() == 2_GiB);
}

TEST_CASE("a context for which only the card has no room finds it too", "[sentinel]") {
  SentinelFixture f({1_GiB, false}, false, 8_GiB);
  f.guard.place_sentinel(f.device);
  f.reader.card_free = 0;
  REQUIRE(f.guard.room_for_context(f.device));
  REQUIRE(f.held() == 1_GiB - round_up(kContextEstimate, SentinelKeeper::kChunkBytes));
}

TEST_CASE("a sentinel that is not in a context's way stays", "[sentinel]") {
  SentinelFixture f({64_MiB, false});
  f.guard.place_sentinel(f.device);
  f.guard.room_for_context(f.device);
  REQUIRE(f.held() == 64_MiB);
}

TEST_CASE("what a sentinel holds is never taken for what no call shows", "[sentinel]") {
  SentinelFixture f({256_MiB, false});
  int moved_quietly = 0;
  f.reader.while_moving_chunk = [&] { moved_quietly += f.device.memory.quiet(); };
  f.guard.place_sentinel(f.device);
  f.reader.process = 520_MiB + 256_MiB;
  f.guard.context_created(f.device, kContext, true);
  REQUIRE(f.device.memory.unseen() == 520_MiB);
  REQUIRE(f.device.memory.quiet());
  f.take(2_GiB - 520_MiB - 256_MiB);
  f.take(64_MiB);
  REQUIRE(f.device.memory.quiet());
  REQUIRE(moved_quietly == 0);
}

TEST_CASE("with several devices a sentinel is placed beside the first context, after that is measured", "[sentinel]") {
  SentinelFixture f(kAll);
  f.reader.process = 520_MiB;
  f.guard.context_created(f.device, kContext, true);
  REQUIRE(f.held() == 2_GiB - 520_MiB);
  REQUIRE_FALSE(f.device.memory.over_budget());
}

TEST_CASE("one that was let go is not taken again", "[sentinel]") {
  SentinelFixture f({128_MiB, false});
  f.guard.place_sentinel(f.device);
  REQUIRE(f.device.sentinel.let_go(f.device) == 128_MiB);
  REQUIRE(f.device.sentinel.let_go(f.device) == 0);
  f.tend_after(seconds(60));
  REQUIRE(f.held() == 0);
  REQUIRE(f.device.memory.unreserved() == 2_GiB);
}
