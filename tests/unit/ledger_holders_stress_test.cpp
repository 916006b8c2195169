// Threads that take, read and measure at the same time leave the sums right.
#include "core/ledger.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/ledger_fixture.h"

using namespace vramguard;

TEST_CASE("16 threads that take from pools and read them never see less admitted than the driver gave",
          "[ledger][holders][stress]") {
  constexpr int kThreads = 16;
  Ledger guard(4_GiB, kNoWake, nullptr);
  // What the driver holds; its lock makes each answer one of a moment.
  std::mutex driver;
  Bytes pools = 0, graphs = 0;
  std::atomic<int> below{0}, refused{0};
  const auto check = [&] {  // with the driver's lock: it can neither give nor take meanwhile
    if (guard.admitted() < pools + graphs) ++below;
  };
  const auto read_one = [&](BoundedHolder holder) {
    const BoundedCharge::Mark mark = guard.mark(holder);
    Bytes bytes = 0;
    {
      const std::lock_guard lock(driver);
      bytes = holder == BoundedHolder::Pools ? pools : graphs;
    }
    if (mark % 3 == 0) std::this_thread::yield();  // readings overtake each other
    guard.read(holder, mark, bytes);
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(thread);
      for (int i = 0; i < 3'000; ++i) {
        const BoundedHolder holder = random() % 2 == 0 ? BoundedHolder::Pools : BoundedHolder::Graphs;
        Bytes& held = holder == BoundedHolder::Pools ? pools : graphs;
        const Bytes worst = 1 + random() % 64_MiB;
        auto reservation = guard.reserve(worst);
        if (reservation) {
          {
            const std::lock_guard lock(driver);
            held += random() % 4 == 0 ? worst : random() % worst;
            check();
          }
          if (random() % 8 == 0) std::this_thread::yield();
          if (guard.settle_bound(*reservation, holder) && random() % 4 == 0) read_one(holder);
        } else {
          ++refused;
          {
            const std::lock_guard lock(driver);
            held -= random() % 2 == 0 ? held : random() % (held + 1);
            check();
          }
          read_one(holder);
        }
        const std::lock_guard lock(driver);
        check();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(below == 0);
  REQUIRE(refused > 0);
  read_one(BoundedHolder::Pools);
  read_one(BoundedHolder::Graphs);
  REQUIRE(guard.admitted() == pools + graphs);
  REQUIRE(guard.used() == pools + graphs);
  REQUIRE(guard.unread() == 0);
  REQUIRE(guard.inconsistencies() == 0);
}

TEST_CASE("readings at the same moment leave charged what the last one says", "[ledger][holders][stress]") {
  Ledger guard(kUnlimitedBytes, kNoWake, nullptr);
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(thread);
      ++started;
      while (started < 8) std::this_thread::yield();
      for (int i = 0; i < 40'000; ++i) read(guard, BoundedHolder::Pools, random() % 64_MiB);
    });
  }
  for (std::thread& thread : threads) thread.join();
  read(guard, BoundedHolder::Pools, 3_MiB);
  REQUIRE(guard.admitted() == 3_MiB);
  REQUIRE(guard.used() == 3_MiB);
  REQUIRE(guard.inconsistencies() == 0);
}

TEST_CASE("threads that change what is unseen and what exact holders have leave the sum of it",
          "[ledger][holders][stress]") {
  constexpr int kThreads = 8, kRounds = 5'000;
  Ledger guard(kUnlimitedBytes, kNoWake, nullptr);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Holder holder = thread % 2 == 0 ? Holder::Physical : Holder::Array;
      for (int i = 0; i < kRounds; ++i) {
        guard.add_unseen(3);
        auto reservation = guard.reserve(i % 3);
        guard.settle_unseen(*reservation, 2);
        guard.lower_unseen(4);
        auto exact = guard.reserve(7);
        guard.settle(*exact, holder, 5);
        guard.release(holder, 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Bytes rounds = Bytes{kThreads} * kRounds;
  REQUIRE(guard.unseen() == rounds);
  REQUIRE(guard.held(Holder::Physical) == rounds);
  REQUIRE(guard.held(Holder::Array) == rounds);
  REQUIRE(guard.used() == 3 * rounds);
  REQUIRE(guard.admitted() == 3 * rounds);
  REQUIRE(guard.quiet());
  REQUIRE(guard.inconsistencies() == 0);
}
