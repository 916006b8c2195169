#include "tests/unit/allocation_failure.h"
#include "tests/unit/guard_fixture.h"

using namespace vramguard;

namespace {

bool has(const std::string& line, const std::string& part) { return line.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a context is charged what the device says of this process less what is in the books", "[guard]") {
  GuardFixture f;
  f.reader.process = 520_MiB;
  f.guard.context_created(f.device, kContext, true);
  REQUIRE(f.device.memory.unseen() == 520_MiB);
  REQUIRE(has(f.records("context").at(0), "context_bytes=545259520 source=nvml"));

  f.allocate({kBase, 10_MiB});
  f.reader.process = 1050_MiB;
  f.guard.context_created(f.device, kContext + 1, false);
  REQUIRE(f.device.memory.unseen() == 1040_MiB);
}

TEST_CASE("where nobody tells, a context is charged the estimate until it ends", "[guard]") {
  GuardFixture f;
  f.guard.context_created(f.device, kContext, true);
  f.guard.context_created(f.device, kContext + 1, false);
  REQUIRE(f.device.memory.unseen() == 2 * kContextEstimate);
  REQUIRE(has(f.records("context").at(1), "source=estimate"));
  f.guard.context_destroyed(kContext + 1, f.guard.sequence());
  REQUIRE(f.device.memory.unseen() == kContextEstimate);
  f.guard.primary_context_gone(f.device, f.guard.sequence());
  REQUIRE(f.device.memory.unseen() == 0);
}

TEST_CASE("a measurement while a call is under way, or with managed memory live, is not trusted", "[guard]") {
  GuardFixture f;
  f.reader.process = 700_MiB;
  SECTION("a call that takes memory") {
    const auto reservation = f.device.memory.reserve(64_MiB);
    f.guard.context_created(f.device, kContext, true);
    REQUIRE(f.device.memory.unseen() == kContextEstimate);
  }
  SECTION("a call that is undone while we look") {
    std::optional<Reservation> reservation = f.device.memory.reserve(64_MiB);
    f.reader.while_looking = [&] { reservation.reset(); };
    f.guard.context_created(f.device, kContext, true);
    REQUIRE(f.device.memory.unseen() == kContextEstimate);
  }
  SECTION("a call that begins while we look") {
    std::optional<Reservation> reservation;
    f.reader.while_looking = [&] {
      if (!reservation) reservation.emplace(std::move(*f.device.memory.reserve(64_MiB)));
    };
    f.guard.context_created(f.device, kContext, true);
    REQUIRE(f.device.memory.unseen() == kContextEstimate);
  }
  SECTION("managed memory") {
    f.allocate({kBase, 64_MiB}, AllocationKind::Managed);
    const Bytes before = f.device.memory.unseen();
    f.guard.context_created(f.device, kContext + 1, false);
    REQUIRE(f.device.memory.unseen() == before + kContextEstimate);
  }
  REQUIRE(f.device.measure_again);
}

TEST_CASE("what could not be measured is measured when somebody asks in a quiet moment", "[guard]") {
  GuardFixture f;
  f.reader.process = 700_MiB;
  std::optional<Reservation> under_way = f.device.memory.reserve(64_MiB);
  f.guard.context_created(f.device, kContext, true);
  REQUIRE_FALSE(f.guard.measure_missed(f.device));
  REQUIRE(f.device.memory.unseen() == kContextEstimate);
  under_way.reset();
  REQUIRE(f.guard.measure_missed(f.device));
  REQUIRE(f.device.memory.unseen() == 700_MiB);
  f.reader.process = 800_MiB;
  REQUIRE_FALSE(f.guard.measure_missed(f.device));
}

TEST_CASE("a context that alone exceeds the budget is said so, once", "[guard]") {
  GuardFixture f(256_MiB);
  f.reader.process = 520_MiB;
  f.guard.context_created(f.device, kContext, true);
  f.guard.context_created(f.device, kContext, true);
  REQUIRE(f.records("context").size() == 1);
  REQUIRE(has(f.records("context").at(0), "lvl=warn"));
  REQUIRE(has(f.records("context").at(0), "over_budget=1"));
}

TEST_CASE("a context's allocations leave the books with it, and only what it can have owned", "[guard]") {
  GuardFixture f;
  f.reader.process = 520_MiB;
  f.allocate({kBase, 4_MiB});
  const std::uint64_t youngest = f.guard.sequence();
  f.allocate({kBase + 100_MiB, 2_MiB});  // of a new life of the same handle, while the old one was ending
  f.guard.context_destroyed(kContext, youngest);
  REQUIRE(f.device.memory.linear() == 2_MiB);
  REQUIRE_FALSE(f.guard.take(kBase));
  REQUIRE(f.guard.take(kBase + 100_MiB));
}

TEST_CASE("a free that the driver refuses puts the record back, unless its context has died", "[guard]") {
  GuardFixture f;
  f.allocate({kBase, 4_MiB});
  const auto record = f.guard.take(kBase);
  REQUIRE(record);
  SECTION("alive") {
    f.guard.put_back(kBase, *record);
    REQUIRE(f.device.memory.linear() == 4_MiB);
    REQUIRE(f.guard.take(kBase) == record);
  }
  SECTION("dead") {
    f.guard.context_destroyed(kContext, f.guard.sequence());
    REQUIRE(f.device.memory.linear() == 4_MiB);  // the free has it
    f.guard.put_back(kBase, *record);
    REQUIRE(f.device.memory.linear() == 0);
    REQUIRE_FALSE(f.guard.take(kBase));
  }
}

TEST_CASE("an allocation at the address of one whose end nobody saw takes its place in the books", "[guard]") {
  GuardFixture f;
  f.allocate({kBase, 8_MiB});
  f.allocate({kBase, 2_MiB});
  REQUIRE(f.device.memory.linear() == 2_MiB);
}

TEST_CASE("without memory for a record the allocation is not counted, and nothing is left behind", "[guard]") {
  GuardFixture f;
  f.guard.context_created(f.device, kContext, true);
  auto reservation = f.device.memory.reserve_linear(4_MiB);
  REQUIRE(f.device.memory.settle(*reservation, {kBase, 4_MiB}));
  {
    const AllocationFailure failure;
    f.guard.remember(f.device, AllocationKind::Linear, 1, {kBase, 4_MiB});
  }
  REQUIRE(f.device.memory.linear() == 0);
  REQUIRE_FALSE(f.guard.take(kBase));
}

TEST_CASE("a refusal is a pair of records, and critical only for what the whole budget could hold", "[guard]") {
  GuardFixture f;
  f.reader.card_free = 9_GiB;
  auto page = f.device.memory.reserve(kPageBytes);
  REQUIRE(f.device.memory.settle(*page, Holder::Physical, kPageBytes));
  f.device.memory.evaluate_pressure(f.clock.now());
  const auto refused = [&](Bytes bytes) {
    OomAttempt attempt(f.device.oom, {.api = "cuMemAlloc_v2", .bytes = bytes, .worst = bytes});
    REQUIRE(attempt.failed(RefusalScope::Budget) == OomAttempt::Next::GiveUp);
  };
  refused(3_GiB);
  REQUIRE_FALSE(f.device.memory.evaluate_pressure(f.clock.now()));
  refused(2_GiB);
  REQUIRE(f.device.memory.evaluate_pressure(f.clock.now())->to == PressureLevel::Critical);
  REQUIRE(f.device.memory.stats().refusals == 2);
  REQUIRE(f.records("oom_refused").size() == 2);
  const std::string returned = f.records("oom_returned").at(0);
  REQUIRE(has(returned, "api=cuMemAlloc_v2"));
  REQUIRE(has(returned, "request_bytes=3221225472 short_bytes=1075838976"));
  REQUIRE(has(returned, "device_free_bytes=9663676416 scope=budget policy=fail"));
}

TEST_CASE("a request that the budget refuses is no pressure of the card; one that the card refuses is", "[guard]") {
  GuardFixture f;
  f.reader.card_free = 9_GiB;
  const auto refused = [&](RefusalScope scope) {
    f.guard.oom_returned(f.device, {.api = "cuMemAlloc_v2", .bytes = 1_GiB, .worst = 1_GiB}, scope);
    return f.device.card_pressure.evaluate(f.clock.now(), 9_GiB);
  };
  REQUIRE_FALSE(refused(RefusalScope::Budget));
  REQUIRE(refused(RefusalScope::Device)->to == PressureLevel::Critical);
}

TEST_CASE("what goes wrong in the guard itself is said once for each place", "[guard]") {
  GuardFixture f;
  f.guard.guard_failed("context", "no memory");
  f.guard.guard_failed("context", "no memory");
  REQUIRE(f.records("guard_error").size() == 1);
  REQUIRE(has(f.records("guard_error").at(0), "where=context"));
}
