// MemoryGuard in a process that is guarded already: whose books, budget and hooks it works on.
#include "core/memory_guard.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "tests/unit/fake_device.h"
#include "tests/unit/fake_process_guard.h"

namespace vramguard {
namespace {

struct Fixture {
  explicit Fixture(Bytes budget = 4_GiB) {
    process->numbers.budget = budget;
    device->guard = process;
  }
  MemoryGuardBuilder builder() const { return MemoryGuardBuilder(device); }

  const std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>(16_GiB);
  const std::shared_ptr<FakeProcessGuard> process = std::make_shared<FakeProcessGuard>();
};

}  // namespace

TEST_CASE("a guard is attached where the device's process has one, and only there") {
  Fixture fixture;
  CHECK(fixture.builder().build().attached());
  fixture.device->guard = nullptr;
  CHECK_FALSE(fixture.builder().build().attached());
}

TEST_CASE("an attached guard keeps no books: it refuses nothing by itself, and tells the numbers of the process") {
  Fixture fixture;
  MemoryGuard guard = fixture.builder().budget_bytes(1_GiB).build();
  const auto buffer = guard.safe_alloc<char>(2_GiB);  // the process's guard has admitted it
  CHECK(fixture.device->zeroed(buffer.address()) == 2_GiB);
  fixture.process->numbers.used = 3_GiB;
  fixture.process->numbers.peak = 4_GiB;
  fixture.process->numbers.allocations = 77;
  CHECK(guard.stats().used == 3_GiB);
  CHECK(guard.stats().allocations == 77);
  CHECK(guard.pressure_level() == PressureLevel::Medium);
  guard.reset_peak_stats();
  CHECK(guard.stats().peak == 3_GiB);
}

TEST_CASE("what is built with a budget lowers that of the process, never raises it, and puts it back at its end") {
  Fixture fixture(4_GiB);
  {
    MemoryGuard more = fixture.builder().budget_bytes(8_GiB).build();
    CHECK(more.budget() == 4_GiB);
    MemoryGuard none = fixture.builder().build();
    CHECK(none.budget() == 4_GiB);
    MemoryGuard less = fixture.builder().budget_bytes(1_GiB).build();
    CHECK(more.budget() == 1_GiB);
  }
  CHECK(fixture.process->numbers.budget == 4_GiB);
  fixture.process->numbers.budget = 0;
  {
    MemoryGuard first = fixture.builder().budget_bytes(2_GiB).build();
    CHECK(fixture.process->numbers.budget == 2_GiB);
    first.set_budget(3_GiB);
  }
  CHECK(fixture.process->numbers.budget == 3_GiB);  // somebody has changed it since
}

TEST_CASE("a cap on the budget of the process holds for an attached guard") {
  Fixture fixture(0);
  fixture.process->cap = 3_GiB;
  {
    MemoryGuard guard = fixture.builder().budget_bytes(8_GiB).build();
    CHECK(guard.budget() == 3_GiB);
    guard.set_budget(0);
    CHECK(guard.budget() == 3_GiB);
  }
}

TEST_CASE("why the process's guard has refused decides which exception it is") {
  Fixture fixture;
  MemoryGuard guard = fixture.builder().build();
  fixture.process->refusal = ProcessGuard::Refusal{
      .by_budget = true, .deferred = false, .missing = 1_GiB, .used = 3_GiB, .reserved = 256_MiB, .budget = 4_GiB};
  fixture.device->refusals = 1;
  try {
    (void)guard.safe_alloc_with_hooks<char>(2_GiB);
    FAIL("served");
  } catch (const BudgetExceeded& error) {
    CHECK(error.requested() == 2_GiB);
    CHECK(error.missing() == 1_GiB);
    CHECK(error.used() == 3_GiB);
    CHECK(error.budget() == 4_GiB);
    CHECK(std::string(error.what()).find("256MiB reserved") != std::string::npos);
  }
  CHECK(fixture.device->allocations == 1);
  fixture.process->refusal->by_budget = false;
  fixture.process->numbers.device_free = 1_GiB;
  fixture.device->refusals = 1;
  try {
    (void)guard.safe_alloc<char>(2_GiB);
    FAIL("served");
  } catch (const OutOfDeviceMemory& error) {
    CHECK(error.device_free() == 1_GiB);
  }
  fixture.process->refusal.reset();
  fixture.device->refusals = 1;
  CHECK_THROWS_AS(guard.safe_alloc<char>(2_GiB), OutOfDeviceMemory);
}

TEST_CASE("a refusal that was deferred is asked again, once") {
  Fixture fixture;
  MemoryGuard guard = fixture.builder().build();
  fixture.process->refusal = ProcessGuard::Refusal{.by_budget = true, .deferred = true, .budget = 4_GiB};
  fixture.device->refusals = 1;
  CHECK_NOTHROW(guard.safe_alloc<char>(1_GiB));
  CHECK(fixture.device->allocations == 2);
  fixture.device->refusals = 5;
  CHECK_THROWS_AS(guard.safe_alloc<char>(1_GiB), BudgetExceeded);
  CHECK(fixture.device->allocations == 4);
}

TEST_CASE("hooks, listeners, the checkpoint and a policy are the process's own, and go with the guard") {
  Fixture fixture;
  {
    MemoryGuard guard = fixture.builder().build();
    CHECK_FALSE(fixture.process->policy);  // nothing was said of it
    guard.register_hook({.name = "a", .callback = [](const MemoryShortage&) { return Bytes{0}; }});
    guard.register_hook({.name = "b", .callback = [](const MemoryShortage&) { return Bytes{0}; }});
    CHECK_THROWS_AS(guard.register_hook({.name = "empty", .callback = {}}), std::invalid_argument);
    CHECK(guard.remove_hook("a"));
    CHECK_FALSE(guard.remove_hook("a"));
    CHECK(fixture.process->hooks.size() == 1);
    guard.on_oom([](const MemoryShortage&) {});
    guard.add_pressure_listener([](PressureLevel, PressureLevel) {});
    guard.set_oom_policy(Spill{1_GiB});
    CHECK(std::get<Spill>(*fixture.process->policy).limit == 1_GiB);
  }
  CHECK(fixture.process->hooks.empty());
  CHECK(fixture.process->listeners.empty());
  CHECK_FALSE(fixture.process->checkpoint);
  MemoryGuard guard = fixture.builder().oom_policy(WaitAndRetry{std::chrono::seconds(7)}).build();
  CHECK(std::get<WaitAndRetry>(*fixture.process->policy).timeout == std::chrono::seconds(7));
}

TEST_CASE("a reservation is the process's own: the larger one holds, and what it was comes back at the end") {
  Fixture fixture;
  fixture.process->set_reservation(256_MiB);
  {
    MemoryGuard less = fixture.builder().reserve_bytes(128_MiB).build();
    CHECK(less.stats().reserved == 256_MiB);
  }
  CHECK(fixture.process->wanted == 256_MiB);
  {
    MemoryGuard more = fixture.builder().reserve_bytes(1_GiB).build();
    CHECK(more.has_reservation());
    CHECK(fixture.process->wanted == 1_GiB);
    CHECK(more.release_reservation() == 1_GiB);
    CHECK_FALSE(more.has_reservation());
  }
  CHECK(fixture.process->wanted == 256_MiB);
}

TEST_CASE("a buffer tells that the process's guard has served it in host memory") {
  Fixture fixture;
  MemoryGuard guard = fixture.builder().build();
  fixture.device->serves_from_host = true;
  CHECK_FALSE(guard.safe_alloc<char>(1_MiB).on_host());  // nothing is spilled: not asked
  fixture.process->numbers.spilled = 1_MiB;
  CHECK(guard.safe_alloc<char>(1_MiB).on_host());
}

TEST_CASE("buffers of an attached guard may outlive it, and a refused free leaves them as they were") {
  Fixture fixture;
  DeviceBuffer<char> buffer;
  {
    MemoryGuard guard = fixture.builder().build(), other = fixture.builder().build();
    buffer = guard.safe_alloc<char>(1_MiB);
    CHECK_THROWS_AS(other.free(std::move(buffer)), std::invalid_argument);
    fixture.device->fails_frees = true;
    CHECK_THROWS_AS(guard.free(std::move(buffer)), DeviceError);
    fixture.device->fails_frees = false;
    CHECK(buffer.size() == 1_MiB);
  }
  CHECK(fixture.device->live() == 1);
  buffer = {};
  CHECK(fixture.device->live() == 0);
}

}  // namespace vramguard
