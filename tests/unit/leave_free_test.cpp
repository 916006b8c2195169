// `leave_free`: what the card is to keep, whoever uses the rest.
#include "tests/unit/oom_fixture.h"

using namespace vramguard;

namespace {

struct LeaveFreeFixture : OomFixture {
  LeaveFreeFixture() : OomFixture(settings(), 8_GiB) {
    reader.card_free = 5_GiB;
    reader.process = 0;
    guard.context_created(device, kContext, true);
  }
  static GuardConfig settings() {
    GuardConfig config = with(OomPolicy::Fail);
    config.leave_free = Bytes{4_GiB};
    return config;
  }
};

}  // namespace

TEST_CASE("the card is never taken below what is to stay free, and the refusal says so", "[leave_free]") {
  LeaveFreeFixture f;
  REQUIRE(f.ask(1_GiB + 2_MiB) == Answer::Refused);
  REQUIRE(has(f.only("oom_refused"), "short_bytes=2097152 scope=leave_free"));
  REQUIRE(has(f.only("oom_returned"), "scope=leave_free"));
  REQUIRE(f.ask(1_GiB) == Answer::Served);
  REQUIRE(f.ask(2_MiB) == Answer::Refused);
  REQUIRE(*f.reader.card_free == 4_GiB);
}

TEST_CASE("what a neighbour gave back is seen before anything is refused", "[leave_free]") {
  LeaveFreeFixture f;
  f.reader.card_free = 7_GiB;
  REQUIRE(f.ask(3_GiB) == Answer::Served);
  REQUIRE(f.records("oom_refused").empty());
}

TEST_CASE("a card that is below it already gives nothing, and freeing does not make it worse", "[leave_free]") {
  LeaveFreeFixture f;
  f.take(512_MiB);
  f.reader.card_free = 1_GiB;
  REQUIRE(f.ask(2_MiB) == Answer::Served);  // as it was seen last
  f.give_back(2_MiB);
  f.guard.look_at_card(f.device, &DeviceReader::free_bytes);
  REQUIRE(f.ask(2_MiB) == Answer::Refused);
  f.give_back(512_MiB);
  REQUIRE(f.ask(2_MiB) == Answer::Refused);
}

TEST_CASE("calls that are under way while the card is looked at are not promised twice", "[leave_free]") {
  LeaveFreeFixture f;
  const auto under_way = f.device.memory.reserve(512_MiB);
  f.guard.look_at_card(f.device, &DeviceReader::free_bytes);
  REQUIRE(f.device.memory.unreserved() == 512_MiB);
}

TEST_CASE("over the budget, the budget is named and not the card", "[leave_free]") {
  LeaveFreeFixture f;
  REQUIRE(f.ask(9_GiB) == Answer::Refused);
  REQUIRE(has(f.only("oom_refused"), "scope=budget"));
}
