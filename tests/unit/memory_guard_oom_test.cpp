// MemoryGuard: what it does for a request that does not fit.
#include "core/memory_guard.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/manual_clock.h"
#include "tests/unit/fake_device.h"

namespace vramguard {
namespace {

using Buffers = std::vector<DeviceBuffer<char>>;

// A budget of 1 GiB that is used to the last page, in buffers of 128 MiB.
struct FullGuard {
  explicit FullGuard(const MemoryPolicy& policy = Fail{})
      : guard(MemoryGuardBuilder(device).budget_bytes(1_GiB).oom_policy(policy).clock(clock).build()) {
    // A time that is over for the system, whenever it was started: whoever waits until then looks at once.
    clock.advance(std::chrono::seconds(1) - std::chrono::hours(1));
    for (int i = 0; i < 8; ++i) cache.push_back(guard.safe_alloc<char>(128_MiB));
  }
  // Frees one buffer and tells `claims` of it.
  MemoryHook hook(const std::string& name, std::int64_t priority = 0, Bytes estimate = 0) {
    return {
        .name = name, .estimated_free_bytes = estimate, .priority = priority, .callback = [this, name](const auto&) {
          ran.push_back(name);
          cache.pop_back();
          return Bytes{128_MiB};
        }};
  }

  ManualClock clock;
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  MemoryGuard guard;
  Buffers cache;
  std::vector<std::string> ran;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("hooks run by priority, then estimate, then age, until the request fits and no further") {
  FullGuard full;
  full.guard.register_hook(full.hook("late", 10, 8_GiB));
  full.guard.register_hook(full.hook("small", 0, 1_MiB));
  full.guard.register_hook(full.hook("large", 0, 1_GiB));
  full.guard.register_hook(full.hook("younger", 0, 1_GiB));
  full.guard.register_hook(full.hook("first", -1));
  const auto buffer = full.guard.safe_alloc_with_hooks<char>(512_MiB);
  CHECK(full.ran == Names{"first", "large", "younger", "small"});
  CHECK(full.device->zeroed(buffer.address()) == 512_MiB);
  CHECK(full.guard.stats().used == 1_GiB);
  CHECK(full.guard.stats().oom_recoveries == 1);
}

TEST_CASE("a request that fits runs no hook, nor does one that did not ask for them") {
  FullGuard full;
  full.guard.register_hook(full.hook("hook"));
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(1_MiB), BudgetExceeded);
  full.cache.pop_back();
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(full.ran.empty());
}

TEST_CASE("requests of any size run hooks") {
  FullGuard full;
  full.guard.register_hook(full.hook("hook"));
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(1));
  CHECK(full.ran == Names{"hook"});
}

TEST_CASE("a request that the whole budget could not hold runs no hook") {
  FullGuard full;
  full.guard.register_hook(full.hook("hook"));
  CHECK_THROWS_AS(full.guard.safe_alloc_with_hooks<char>(1_GiB + 1), BudgetExceeded);
  CHECK(full.ran.empty());
}

TEST_CASE("what a hook says it has freed is not believed") {
  FullGuard full;
  int liars = 0;
  full.guard.register_hook({.name = "liar", .priority = -1, .callback = [&](const MemoryShortage&) {
                              ++liars;
                              return Bytes{1024_GiB};
                            }});
  CHECK_THROWS_AS(full.guard.safe_alloc_with_hooks<char>(128_MiB), BudgetExceeded);
  CHECK(full.guard.stats().used == 1_GiB);
  CHECK(full.guard.stats().oom_recoveries == 0);
  full.guard.register_hook({.name = "modest", .callback = [&](const MemoryShortage&) {
                              full.cache.pop_back();
                              return Bytes{0};
                            }});
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(liars == 2);
  CHECK(full.device->most_used() == 1_GiB);
}

TEST_CASE("a hook is told what was asked, what is missing and what is left") {
  FullGuard full;
  full.cache.pop_back();
  MemoryShortage told;
  full.guard.register_hook({.name = "hook", .callback = [&](const MemoryShortage& shortage) {
                              told = shortage;
                              return Bytes{0};
                            }});
  CHECK_THROWS_AS(full.guard.safe_alloc_with_hooks<char>(200_MiB), BudgetExceeded);
  CHECK(told.requested == 200_MiB);
  CHECK(told.missing == 72_MiB);
  CHECK(told.used == 896_MiB);
  CHECK(told.budget == 1_GiB);
  CHECK(told.device_free == 16_GiB - 896_MiB);
  CHECK(told.attempt >= 1);
}

TEST_CASE("a hook is skipped while less is free than it needs itself") {
  FullGuard full;
  MemoryHook hungry = full.hook("hungry", -1);
  hungry.execution_overhead_bytes = 64_MiB;
  full.guard.register_hook(hungry);
  full.guard.register_hook(full.hook("frugal"));
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(full.ran == Names{"frugal"});
  full.ran.clear();
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(256_MiB));  // 128 MiB are free now
  CHECK(full.ran.front() == "hungry");
}

TEST_CASE("a hook that throws is a failed one, and the next is asked") {
  FullGuard full;
  full.guard.register_hook({.name = "thrower", .priority = -1, .callback = [](const MemoryShortage&) -> Bytes {
                              throw std::runtime_error("hook");
                            }});
  full.guard.register_hook(full.hook("good"));
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(full.ran == Names{"good"});
}

TEST_CASE("a hook may use the guard; what it asks for runs no hook") {
  FullGuard full;
  int runs = 0, refused = 0;
  full.guard.register_hook({.name = "asking", .callback = [&](const MemoryShortage&) {
                              ++runs;
                              try {
                                (void)full.guard.safe_alloc_with_hooks<char>(64_MiB);
                              } catch (const BudgetExceeded&) {
                                ++refused;
                              }
                              full.cache.pop_back();
                              (void)full.guard.safe_alloc_with_hooks<char>(64_MiB);
                              return full.guard.stats().used;
                            }});
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(runs == 1);
  CHECK(refused == 1);
}

TEST_CASE("a removed hook runs no more, and removing says whether there was one") {
  FullGuard full;
  full.guard.register_hook(full.hook("hook"));
  CHECK(full.guard.remove_hook("hook"));
  CHECK_FALSE(full.guard.remove_hook("hook"));
  CHECK_THROWS_AS(full.guard.safe_alloc_with_hooks<char>(128_MiB), BudgetExceeded);
  CHECK(full.ran.empty());
}

TEST_CASE("what the device keeps for nobody is had before anything is refused") {
  const auto device = std::make_shared<FakeDevice>(4_GiB);
  MemoryGuard guard = MemoryGuardBuilder(device).build();
  device->cache(3_GiB);
  CHECK_NOTHROW(guard.safe_alloc<char>(2_GiB));
  CHECK(device->trims == 1);
  CHECK(guard.stats().oom_recoveries == 0);  // nothing was refused
}

TEST_CASE("RetryAfterFree has the device free what it keeps, then tries again") {
  for (const bool retries : {false, true}) {
    const auto device = std::make_shared<FakeDevice>(4_GiB);
    MemoryGuard guard = MemoryGuardBuilder(device).build();
    if (retries) guard.set_oom_policy(RetryAfterFree{});
    device->cache(3_GiB);
    device->trims_in_vain = 2;  // gives nothing back the first time
    if (retries) {
      CHECK_NOTHROW(guard.safe_alloc<char>(2_GiB));
      CHECK(guard.stats().oom_recoveries == 1);
    } else {
      CHECK_THROWS_AS(guard.safe_alloc<char>(2_GiB), OutOfDeviceMemory);
    }
    CHECK(device->trims == (retries ? 2 : 1));
  }
}

TEST_CASE("recoveries are requests that were refused and then served, not refusals") {
  FullGuard full(RetryAfterFree{});
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(full.guard.safe_alloc<char>(128_MiB), BudgetExceeded);
  CHECK(full.guard.stats().oom_recoveries == 0);
  full.guard.register_hook(full.hook("hook"));
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(full.guard.stats().oom_recoveries == 1);
  full.cache.pop_back();
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(full.guard.stats().oom_recoveries == 1);
}

TEST_CASE("a refusal by the budget takes the way of the policy as one by the device does") {
  std::atomic<int> saved{0};
  FullGuard full(CheckpointAndFail{});
  full.guard.on_oom([&](const MemoryShortage&) { ++saved; });
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(1_MiB), BudgetExceeded);
  CHECK(saved == 1);
  full.guard.set_budget(0);
  full.device->neighbour_takes(*full.device->free_bytes());
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(1_MiB), OutOfDeviceMemory);
  CHECK(saved == 2);
}

TEST_CASE("the checkpoint is called once for each request that is turned down, and for no other") {
  FullGuard full(CheckpointAndFail{});
  std::vector<Bytes> saved;
  full.guard.on_oom([&](const MemoryShortage& shortage) { saved.push_back(shortage.requested); });
  full.guard.register_hook(full.hook("hook"));
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(saved.empty());
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(256_MiB), BudgetExceeded);
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(512_MiB), BudgetExceeded);
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(64_GiB), BudgetExceeded);  // absurd, but the program ends by it as well
  CHECK(saved == std::vector<Bytes>{256_MiB, 512_MiB, 64_GiB});
  full.guard.set_oom_policy(Fail{});
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(256_MiB), BudgetExceeded);
  full.guard.set_oom_policy(CheckpointAndFail{});
  full.guard.on_oom(nullptr);
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(256_MiB), BudgetExceeded);
  CHECK(saved.size() == 3);
}

TEST_CASE("a checkpoint that asks for memory itself, or throws, ends as any other") {
  FullGuard full(CheckpointAndFail{});
  int saved = 0;
  full.guard.on_oom([&](const MemoryShortage&) {
    ++saved;
    (void)full.guard.safe_alloc<char>(1_MiB);
  });
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(256_MiB), BudgetExceeded);
  CHECK(saved == 1);
}

TEST_CASE("WaitAndRetry is served when another thread frees") {
  FullGuard full(WaitAndRetry{std::chrono::minutes(1)});
  std::atomic<bool> asked{false};
  std::thread other([&] {
    while (!asked) std::this_thread::yield();
    full.cache.clear();
  });
  full.guard.register_hook({.name = "tells that it is on its way", .callback = [&](const MemoryShortage&) {
                              asked = true;
                              return Bytes{0};
                            }});
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(1_GiB));
  other.join();
  CHECK(full.guard.stats().oom_recoveries == 1);
}

TEST_CASE("WaitAndRetry is served when the budget is raised") {
  FullGuard full(WaitAndRetry{std::chrono::minutes(1)});
  std::thread other([&] { full.guard.set_budget(2_GiB); });
  CHECK_NOTHROW(full.guard.safe_alloc<char>(512_MiB));
  other.join();
}

TEST_CASE("WaitAndRetry ends when its time is over") {
  FullGuard full(WaitAndRetry{std::chrono::seconds(7)});
  full.guard.set_budget(0);
  full.device->neighbour_takes(*full.device->free_bytes());
  std::atomic<bool> over{false};
  std::thread time([&] {
    for (int seen = 0; !over; std::this_thread::yield()) {
      const int tries = full.device->allocations;
      if (std::exchange(seen, tries) != tries) full.clock.advance(std::chrono::milliseconds(50));
    }
  });
  const MonotonicTime before = full.clock.now();
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(1_MiB), OutOfDeviceMemory);
  const auto waited = full.clock.now() - before;
  CHECK(waited >= std::chrono::seconds(7));
  CHECK(waited < std::chrono::seconds(10));
  over = true;
  time.join();
}

TEST_CASE("WaitAndRetry gives up at once when no other thread could free anything") {
  FullGuard full(WaitAndRetry{std::chrono::minutes(10)});
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(128_MiB), BudgetExceeded);  // the clock stands still
}

TEST_CASE("Spill gives host memory, up to its limit, and takes nothing of budget or device") {
  FullGuard full(Spill{512_MiB});
  const Bytes device_free = *full.device->free_bytes();
  {
    const auto spilled = full.guard.safe_alloc<char>(300_MiB);
    CHECK(spilled.on_host());
    CHECK(full.device->zeroed(spilled.address()) == 300_MiB);
    CHECK(full.guard.stats().spilled == 300_MiB);
    CHECK(full.guard.stats().used == 1_GiB);
    CHECK(full.guard.stats().oom_recoveries == 1);
    CHECK(full.guard.stats().allocations == 9);
    CHECK(full.device->free_bytes() == device_free);
    CHECK_THROWS_AS(full.guard.safe_alloc<char>(213_MiB), BudgetExceeded);
    CHECK_NOTHROW(full.guard.safe_alloc<char>(212_MiB));
  }
  CHECK(full.guard.stats().spilled == 0);
  CHECK(full.device->live() == 8);
  CHECK(full.guard.safe_alloc<char>(4_KiB).on_host());
  full.device->has_host_memory = false;
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(1_MiB), BudgetExceeded);
  CHECK(full.guard.stats().spilled == 0);
  full.cache.pop_back();
  CHECK_FALSE(full.guard.safe_alloc<char>(128_MiB).on_host());
}

}  // namespace vramguard
