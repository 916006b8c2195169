#include "core/statistics.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>
#include <vector>

using namespace vramguard;

TEST_CASE("statistics remember the highest use until the peak is reset", "[statistics]") {
  Statistics statistics;
  REQUIRE(statistics.grow(10) == 10);
  REQUIRE(statistics.grow(20) == 30);
  REQUIRE(statistics.shrink(25) == 5);
  REQUIRE(statistics.snapshot().used == 5);
  REQUIRE(statistics.snapshot().peak == 30);
  statistics.reset_peak();
  REQUIRE(statistics.snapshot().peak == 5);
  statistics.grow(1);
  REQUIRE(statistics.snapshot().peak == 6);
}

TEST_CASE("statistics count allocations, frees and refusals each for itself", "[statistics]") {
  Statistics statistics;
  for (int i = 0; i < 3; ++i) statistics.count_allocation();
  for (int i = 0; i < 2; ++i) statistics.count_free();
  statistics.count_refusal();
  const Statistics::Snapshot snapshot = statistics.snapshot();
  REQUIRE(snapshot.allocations == 3);
  REQUIRE(snapshot.frees == 2);
  REQUIRE(snapshot.refusals == 1);
}

TEST_CASE("the peak is the highest sum of all threads, and a snapshot never shows it below use",
          "[statistics][stress]") {
  constexpr int kThreads = 8;
  Statistics statistics;
  std::atomic<int> ready{0};
  std::atomic<bool> peak_below_use{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        statistics.grow(1);
        const Statistics::Snapshot snapshot = statistics.snapshot();
        if (snapshot.peak < snapshot.used) peak_below_use = true;
        statistics.shrink(1);
      }
      statistics.grow(10);
      // All hold their 10 at one moment.
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      statistics.shrink(10);
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE_FALSE(peak_below_use);
  REQUIRE(statistics.used() == 0);
  REQUIRE(statistics.snapshot().peak >= 10 * kThreads);
  REQUIRE(statistics.snapshot().peak <= 11 * kThreads);
}
