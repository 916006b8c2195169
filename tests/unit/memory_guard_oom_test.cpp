// MemoryGuard: trims and policies for a request that does not fit.
#include "core/memory_guard.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/memory_guard_fixture.h"

namespace vramguard {

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
