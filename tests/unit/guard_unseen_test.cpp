// What no allocation call shows, measured; arrays, which may share its pages; and physical allocations.
#include <thread>

#include "tests/unit/guard_fixture.h"

using namespace vramguard;

namespace {

// With a context that was measured at 520 MiB.
struct MeasuredFixture : GuardFixture {
  MeasuredFixture() {
    reader.process = 520_MiB;
    guard.context_created(device, kContext, true);
    REQUIRE(device.memory.unseen() == 520_MiB);
  }
  ContextId context() { return guard.context_in_use(device, kContext); }
  Reservation reserve(Bytes bytes) {
    auto reservation = device.memory.reserve(bytes);
    REQUIRE(reservation);
    return std::move(*reservation);
  }
  void add_array(std::uint64_t array, Bytes bytes) {
    Reservation reservation = reserve(bytes);
    REQUIRE(device.memory.settle(reservation, Holder::Array, bytes));
    guard.remember_array(device, context(), array, bytes);
  }
};

}  // namespace

TEST_CASE("a call that came and went while we looked spoils the measurement", "[guard][unseen]") {
  MeasuredFixture f;
  int looks = 0;
  f.reader.while_looking = [&] {
    const bool disturbed = looks++ == 0;
    f.reader.process = 521_MiB + (disturbed ? 64_MiB : 0);
    if (!disturbed) return;
    f.allocate({kBase, 64_MiB});
    f.free(kBase);
  };
  f.guard.unseen_changed(f.device);
  REQUIRE(f.device.memory.unseen() == 521_MiB);
  REQUIRE(looks == 2);
}

TEST_CASE("what is found out of date while we look is measured again, whatever we find", "[guard][unseen]") {
  MeasuredFixture f;
  f.reader.while_looking = [&] { f.device.measure_again = true; };
  f.guard.unseen_changed(f.device);
  REQUIRE(f.device.measure_again);
  REQUIRE(f.guard.measure_missed(f.device));
  REQUIRE(f.device.measure_again);
  f.guard.context_created(f.device, kContext + 1, false);
  REQUIRE(f.device.measure_again);
  f.reader.while_looking = [] {};
  REQUIRE(f.guard.measure_missed(f.device));
  REQUIRE_FALSE(f.device.measure_again);
}

TEST_CASE("what somebody else measures or adds while we look is not overwritten", "[guard][unseen]") {
  MeasuredFixture f;
  int looks = 0;
  f.reader.while_looking = [&] {
    if (looks++ == 0) {
      f.device.memory.add_unseen(100_MiB);
    } else {
      f.reader.process = 620_MiB;
    }
  };
  f.guard.unseen_changed(f.device);
  REQUIRE(looks == 2);
  REQUIRE(f.device.memory.unseen() == 620_MiB);
}

TEST_CASE("a measurement that may not raise much does not fulfil the wish for one that may", "[guard][unseen]") {
  MeasuredFixture f;
  const bool wished = GENERATE(false, true);
  f.device.measure_again = wished;
  f.reader.process = 700_MiB;
  f.guard.shared_page_left(f.device, std::nullopt);
  REQUIRE(f.device.memory.unseen() == 520_MiB);
  REQUIRE(f.guard.measure_missed(f.device) == wished);
  REQUIRE(f.device.memory.unseen() == (wished ? 700_MiB : 520_MiB));
  REQUIRE_FALSE(f.device.measure_again);
}

TEST_CASE("nothing is measured while a pool is being destroyed", "[guard][unseen]") {
  MeasuredFixture f;
  f.guard.pools().add(1, 0);
  f.reader.process = 100_MiB;
  bool closed = false;
  SECTION("before we look") { closed = f.guard.pools().close(1); }
  SECTION("while we look") {
    f.reader.while_looking = [&] { closed = f.guard.pools().close(1) || closed; };
  }
  f.guard.unseen_changed(f.device);
  REQUIRE(closed);
  REQUIRE(f.device.memory.unseen() == 520_MiB);
  REQUIRE(f.device.measure_again);
  f.guard.pools().remove(1);
  f.reader.while_looking = [] {};
  REQUIRE(f.guard.measure_missed(f.device));
  REQUIRE(f.device.memory.unseen() == 100_MiB);
}

TEST_CASE("what pools and graphs hold is read before what is unseen is told from it", "[guard][unseen]") {
  MeasuredFixture f;
  f.device.pools_used = true;
  f.device.graphs_used = true;
  f.reader.pools[1] = 64_MiB;
  f.guard.pools().add(1, 0);
  f.reader.graphs = 32_MiB;
  f.reader.process = 620_MiB;
  f.guard.unseen_changed(f.device);
  REQUIRE(f.device.memory.unseen() == 524_MiB);
  REQUIRE(f.device.memory.used() == 620_MiB);

  int looks = 0;
  f.reader.while_looking = [&] {
    if (looks++ == 0) f.reader.pools[1] = 0;  // given back by the driver, after it was read
    f.reader.process = 556_MiB;
  };
  f.guard.unseen_changed(f.device);
  REQUIRE(looks == 2);
  REQUIRE(f.device.memory.unseen() == 524_MiB);
}

TEST_CASE("a call that changes what no call shows is measured at once, or once the others have ended",
          "[guard][unseen]") {
  MeasuredFixture f;
  f.reader.process = 800_MiB;
  SECTION("at once") { f.guard.unseen_changed(f.device); }
  SECTION("later") {
    std::optional<Reservation> call = f.device.memory.reserve(2_MiB);
    f.guard.unseen_changed(f.device);
    REQUIRE(f.device.memory.unseen() == 520_MiB);
    REQUIRE(f.device.measure_again);
    REQUIRE_FALSE(f.guard.measure_missed(f.device));
    call.reset();
    REQUIRE(f.guard.measure_missed(f.device));
  }
  SECTION("not where nobody tells") {
    f.reader.process = std::nullopt;
    f.guard.unseen_changed(f.device);
    REQUIRE(f.device.memory.unseen() == 520_MiB);
    REQUIRE_FALSE(f.guard.measure_missed(f.device));
    return;
  }
  REQUIRE(f.device.memory.unseen() == 800_MiB);
}

TEST_CASE("while managed memory is live, what is unseen is only ever lowered", "[guard][unseen]") {
  MeasuredFixture f;
  const auto kind = GENERATE(AllocationKind::Managed, AllocationKind::Uncharged);
  if (kind == AllocationKind::Managed) {
    f.allocate({kBase, 63_MiB}, kind);
  } else {
    f.guard.remember(f.device, kind, f.context(), {kBase, 63_MiB});
  }
  const auto measure = [&](Bytes process) {
    f.reader.process = process;
    f.device.measure_again = true;
    return f.guard.measure_missed(f.device);
  };
  REQUIRE_FALSE(measure(584_MiB));  // all of it resident, or 64 MiB more that are unseen
  REQUIRE(f.device.memory.unseen() == 520_MiB);
  REQUIRE_FALSE(f.device.measure_again);  // as long as it lives, nothing better will be known
  REQUIRE(measure(500_MiB));
  REQUIRE(f.device.memory.unseen() == 500_MiB);
  REQUIRE_FALSE(measure(501_MiB));

  f.free(kBase);
  REQUIRE(f.device.managed_bytes == 0);
  REQUIRE(f.device.uncharged_live == 0);
  REQUIRE(measure(584_MiB));
  REQUIRE(f.device.memory.unseen() == 584_MiB);
}

TEST_CASE("a small array is charged the page that it took, or none, as the device says", "[guard][unseen]") {
  MeasuredFixture f;
  const Bytes page = GENERATE(0_MiB, 2_MiB);
  const bool trial = GENERATE(false, true);
  Reservation reservation = f.reserve(trial ? 0 : kPageBytes);
  f.reader.process = 520_MiB + page;
  f.guard.shared_page_taken(f.device, reservation, std::nullopt);
  REQUIRE(f.device.memory.unseen() == 520_MiB + page);
  REQUIRE(f.device.memory.admitted() == 520_MiB + page);
  REQUIRE(f.device.memory.quiet());
  f.reader.process = 520_MiB;
  f.guard.shared_page_left(f.device, std::nullopt);
  REQUIRE(f.device.memory.unseen() == 520_MiB);
}

TEST_CASE("where nobody tells, the card does whether a small array took or left a page", "[guard][unseen]") {
  MeasuredFixture f;
  f.reader.process = std::nullopt;
  const auto taken = [&](std::optional<bool> card_says) {
    Reservation reservation = f.reserve(kPageBytes);
    f.guard.shared_page_taken(f.device, reservation, card_says);
    REQUIRE(f.device.memory.admitted() == f.device.memory.used());
    return f.device.memory.unseen();
  };
  const auto left = [&](std::optional<bool> card_says) {
    f.guard.shared_page_left(f.device, card_says);
    return f.device.memory.unseen();
  };
  REQUIRE(taken(true) == 522_MiB);
  REQUIRE(taken(false) == 522_MiB);
  REQUIRE(taken(std::nullopt) == 524_MiB);  // never too little
  REQUIRE(left(std::nullopt) == 524_MiB);
  REQUIRE(left(false) == 524_MiB);
  REQUIRE(left(true) == 522_MiB);
}

TEST_CASE("two small arrays at once are charged a page each until it is measured", "[guard][unseen]") {
  MeasuredFixture f;
  f.reader.process = 522_MiB;
  Reservation first = f.reserve(kPageBytes), second = f.reserve(kPageBytes);
  f.guard.shared_page_taken(f.device, first, std::nullopt);
  REQUIRE(f.device.measure_again);
  REQUIRE(f.device.memory.unseen() == 522_MiB);
  {
    std::optional<Reservation> third = f.device.memory.reserve(0);
    f.guard.shared_page_taken(f.device, second, std::nullopt);
  }
  REQUIRE(f.device.memory.unseen() == 524_MiB);
  REQUIRE(f.guard.measure_missed(f.device));
  REQUIRE(f.device.memory.unseen() == 522_MiB);
}

TEST_CASE("an array is in the books by its handle until it is destroyed", "[guard][unseen]") {
  MeasuredFixture f;
  f.add_array(0xa0, 64_MiB);
  REQUIRE(f.device.memory.held(Holder::Array) == 64_MiB);
  REQUIRE_FALSE(f.guard.take(0xa0));
  const auto record = f.guard.take_array(0xa0);
  REQUIRE(record);
  REQUIRE(record->bytes == 64_MiB);
  REQUIRE_FALSE(f.guard.take_array(0xa0));
  SECTION("destroyed") {
    f.guard.forget(0xa0, *record);
    REQUIRE(f.device.memory.held(Holder::Array) == 0);
    REQUIRE(f.device.memory.admitted() == 520_MiB);
  }
  SECTION("refused") {
    f.guard.put_back(0xa0, *record);
    REQUIRE(f.guard.take_array(0xa0) == record);
    REQUIRE(f.device.memory.held(Holder::Array) == 64_MiB);
  }
  SECTION("refused, and its context has died meanwhile") {
    f.guard.context_destroyed(kContext, f.guard.sequence());
    f.guard.put_back(0xa0, *record);
    REQUIRE_FALSE(f.guard.take_array(0xa0));
    REQUIRE(f.device.memory.held(Holder::Array) == 0);
  }
}

TEST_CASE("arrays leave the books with their context, and only those that it can have owned", "[guard][unseen]") {
  MeasuredFixture f;
  f.add_array(0xa0, 64_MiB);
  f.guard.remember_array(f.device, f.context(), 0xb0, 0);
  const std::uint64_t youngest = f.guard.sequence();
  f.add_array(0xc0, 32_MiB);
  f.guard.context_destroyed(kContext, youngest);
  REQUIRE_FALSE(f.guard.take_array(0xa0));
  REQUIRE_FALSE(f.guard.take_array(0xb0));
  REQUIRE(f.guard.take_array(0xc0));
  REQUIRE(f.device.memory.held(Holder::Array) == 32_MiB);
}

TEST_CASE("an array with the handle of one whose end nobody saw takes its place", "[guard][unseen]") {
  MeasuredFixture f;
  f.add_array(0xa0, 64_MiB);
  f.add_array(0xa0, 32_MiB);
  REQUIRE(f.device.memory.held(Holder::Array) == 32_MiB);
}

TEST_CASE("a physical allocation that is gone gives its bytes back to its device, and survives a context",
          "[guard][unseen]") {
  MeasuredFixture f;
  Reservation reservation = f.reserve(64_MiB);
  REQUIRE(f.device.memory.settle(reservation, Holder::Physical, 64_MiB));
  f.guard.context_destroyed(kContext, f.guard.sequence());
  REQUIRE(f.device.memory.held(Holder::Physical) == 64_MiB);
  f.guard.physical_gone({5, 64_MiB});
  REQUIRE(f.device.memory.held(Holder::Physical) == 64_MiB);
  f.guard.physical_gone({0, 64_MiB});
  REQUIRE(f.device.memory.held(Holder::Physical) == 0);
}
