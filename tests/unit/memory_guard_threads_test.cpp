// MemoryGuard with many threads: at the limit, and in callbacks that come back to it.
#include "core/memory_guard.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/fake_device.h"

namespace vramguard {
namespace {

void together(int threads, const std::function<void(int)>& work) {
  std::atomic<int> ready{0};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      ++ready;
      while (ready < threads) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : all) thread.join();
}

// Fails, instead of standing still, where a lock is held: another thread does what would wait for it.
void use_from_another_thread(MemoryGuard& guard) {
  std::thread([&] {
    guard.add_pressure_listener([](PressureLevel, PressureLevel) {});
    guard.register_hook({.name = "other", .callback = [](const MemoryShortage&) { return Bytes{0}; }});
    guard.remove_hook("other");
    guard.on_oom([](const MemoryShortage&) {});
    guard.stats();
    guard.pressure_level();
    try {
      (void)guard.safe_alloc<char>(2_MiB);
    } catch (const BudgetExceeded&) {
    }
  }).join();
}

}  // namespace

TEST_CASE("threads that race for the last bytes get exactly what fits") {
  for (int round = 0; round < 200; ++round) {
    const auto device = std::make_shared<FakeDevice>();
    MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(45_MiB).build();
    std::atomic<int> served{0};
    std::vector<DeviceBuffer<char>> buffers(8);
    together(8, [&](int i) {
      try {
        buffers[i] = guard.safe_alloc<char>(10_MiB);
        ++served;
      } catch (const BudgetExceeded&) {
      }
    });
    CHECK(served == 4);
    CHECK(device->most_used() <= 45_MiB);
  }
}

TEST_CASE("never more than the budget is in use, whatever threads allocate and free") {
  const auto device = std::make_shared<FakeDevice>();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(64_MiB).oom_policy(RetryAfterFree{}).build();
  std::atomic<std::uint64_t> served{0};
  together(8, [&](int i) {
    std::minstd_rand random(static_cast<unsigned>(i) + 1);
    std::vector<DeviceBuffer<char>> held;
    for (int step = 0; step < 300; ++step) {
      try {
        held.push_back(guard.safe_alloc<char>(random() % 12_MiB + 1));
        ++served;
      } catch (const BudgetExceeded&) {
        held.clear();
      }
      if (held.size() > 3) held.erase(held.begin());
    }
  });
  CHECK(guard.stats().peak <= 64_MiB);
  CHECK(device->most_used() <= 64_MiB + 2_MiB);  // one page, while a request is tried and undone
  CHECK(device->most_used() >= 48_MiB);
  CHECK(guard.stats().used == 0);
  CHECK(guard.stats().allocations == served);
  CHECK(device->live() == 0);
}

TEST_CASE("no lock is held while a listener is called") {
  const auto device = std::make_shared<FakeDevice>();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(100_MiB).build();
  int heard = 0;
  std::vector<DeviceBuffer<char>> given_up;
  DeviceBuffer<char> own;
  guard.add_pressure_listener([&](PressureLevel, PressureLevel to) {
    ++heard;
    use_from_another_thread(guard);
    if (to == PressureLevel::High) given_up.clear();  // an allocator's way: free under pressure
    if (own.empty()) own = guard.safe_alloc<char>(2_MiB);
  });
  given_up.push_back(guard.safe_alloc<char>(50_MiB));
  const auto buffer = guard.safe_alloc<char>(46_MiB);
  CHECK(given_up.empty());
  CHECK(own.size() == 2_MiB);
  CHECK(heard >= 2);
  CHECK(guard.pressure_level() == PressureLevel::None);
}

TEST_CASE("no lock is held while a hook or a checkpoint is called") {
  const auto device = std::make_shared<FakeDevice>();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(100_MiB).oom_policy(CheckpointAndFail{}).build();
  const auto buffer = guard.safe_alloc<char>(99_MiB);
  int called = 0;
  guard.on_oom([&](const MemoryShortage&) {
    ++called;
    use_from_another_thread(guard);
  });
  guard.register_hook({.name = "hook", .callback = [&](const MemoryShortage&) {
                         ++called;
                         guard.stats();
                         std::thread([&] { guard.remove_hook("none"); }).join();
                         return Bytes{0};
                       }});
  CHECK_THROWS_AS(guard.safe_alloc_with_hooks<char>(50_MiB), BudgetExceeded);
  CHECK(called == 2);
}

TEST_CASE("after whatever threads did, listeners have last heard the level that holds") {
  for (int round = 0; round < 50; ++round) {
    MemoryGuard guard = MemoryGuardBuilder(std::make_shared<FakeDevice>()).budget_bytes(64_MiB).build();
    std::atomic<int> heard{0};
    // Each change starts where the one before it ended, so the sum of the steps is the level.
    guard.add_pressure_listener(
        [&](PressureLevel from, PressureLevel to) { heard += static_cast<int>(to) - static_cast<int>(from); });
    std::vector<DeviceBuffer<char>> kept(4);
    together(4, [&](int i) {
      for (int step = 0; step < 20; ++step) {
        kept[i] = {};
        kept[i] = guard.safe_alloc<char>(static_cast<Bytes>(2 * (step % 8) + 1) << 20);
      }
    });
    CHECK(heard == static_cast<int>(guard.pressure_level()));
  }
}

TEST_CASE("threads that need memory together share one run of the hooks") {
  const auto device = std::make_shared<FakeDevice>();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).build();
  std::vector<DeviceBuffer<char>> cache;
  for (int i = 0; i < 8; ++i) cache.push_back(guard.safe_alloc<char>(128_MiB));
  std::atomic<int> inside{0}, most{0};
  guard.register_hook({.name = "cache", .callback = [&](const MemoryShortage&) {
                         most = std::max(most.load(), ++inside);
                         cache.clear();
                         --inside;
                         return Bytes{0};
                       }});
  std::vector<DeviceBuffer<char>> buffers(8);
  together(8, [&](int i) { buffers[i] = guard.safe_alloc_with_hooks<char>(128_MiB); });
  CHECK(most == 1);
  CHECK(device->used() == 1_GiB);
}

}  // namespace vramguard
