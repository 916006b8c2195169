#include "core/budget.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

using namespace vramguard;

TEST_CASE("a budget admits to the byte and no further", "[budget]") {
  Budget budget(100);
  REQUIRE(budget.try_reserve(60));
  REQUIRE_FALSE(budget.try_reserve(41));
  REQUIRE(budget.admitted() == 60);
  REQUIRE(budget.try_reserve(40));
  REQUIRE(budget.admitted() == 100);
  REQUIRE(budget.try_reserve(0));
  REQUIRE_FALSE(budget.try_reserve(1));
  budget.give_back(1);
  REQUIRE(budget.would_fit(1));
  REQUIRE_FALSE(budget.would_fit(2));
  REQUIRE(budget.try_reserve(1));
}

TEST_CASE("requests near 2^64 do not wrap around the budget", "[budget]") {
  Budget limited(1000);
  REQUIRE(limited.try_reserve(10));
  for (const Bytes huge : {Bytes{UINT64_MAX}, UINT64_MAX - 9, UINT64_MAX - 10, UINT64_MAX / 2}) {
    REQUIRE_FALSE(limited.try_reserve(huge));
  }
  REQUIRE(limited.admitted() == 10);

  Budget unlimited(kUnlimitedBytes);
  REQUIRE(unlimited.try_reserve(UINT64_MAX - 5));
  REQUIRE_FALSE(unlimited.try_reserve(6));
  REQUIRE(unlimited.try_reserve(5));
  unlimited.charge(7);
  REQUIRE(unlimited.admitted() == UINT64_MAX);
}

TEST_CASE("an unlimited budget refuses nothing and counts all the same", "[budget]") {
  Budget budget(kUnlimitedBytes);
  REQUIRE(budget.try_reserve(1_GiB));
  REQUIRE(budget.admitted() == 1_GiB);
  budget.set_limit(1_GiB);
  REQUIRE_FALSE(budget.try_reserve(1));
}

TEST_CASE("a charge counts even beyond the limit, and refuses others until use is back under it", "[budget]") {
  Budget budget(100);
  budget.charge(150);
  REQUIRE(budget.admitted() == 150);
  REQUIRE_FALSE(budget.try_reserve(0));
  REQUIRE_FALSE(budget.try_reserve(1));
  budget.give_back(51);
  REQUIRE(budget.try_reserve(1));
  REQUIRE_FALSE(budget.try_reserve(1));
}

TEST_CASE("a budget lowered below use takes nothing back and admits nothing", "[budget]") {
  Budget budget(100);
  REQUIRE(budget.try_reserve(80));
  budget.set_limit(50);
  REQUIRE(budget.admitted() == 80);
  REQUIRE_FALSE(budget.try_reserve(1));
  budget.give_back(40);
  REQUIRE(budget.try_reserve(10));
  REQUIRE_FALSE(budget.try_reserve(1));
}

#ifdef NDEBUG
TEST_CASE("giving back more than was admitted leaves 0 and is counted", "[budget]") {
  Budget budget(100);
  REQUIRE(budget.try_reserve(10));
  REQUIRE(budget.inconsistencies() == 0);
  budget.give_back(11);
  REQUIRE(budget.admitted() == 0);
  REQUIRE(budget.inconsistencies() == 1);
}
#endif

TEST_CASE("threads that race for the last bytes get exactly the budget", "[budget][stress]") {
  constexpr int kThreads = 16;
  constexpr int kRounds = 300;
  constexpr Bytes kLimit = 300;
  Budget budget(kLimit);
  std::atomic<Bytes> got{0};
  std::atomic<int> wrong{0};
  std::barrier round(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, step = Bytes(1 + thread % 3)] {
      for (int i = 0; i < kRounds; ++i) {
        Bytes own = 0;
        round.arrive_and_wait();
        while (budget.try_reserve(step)) own += step;
        while (budget.try_reserve(1)) own += 1;
        got += own;
        round.arrive_and_wait();
        wrong += got == kLimit && budget.admitted() == kLimit ? 0 : 1;
        round.arrive_and_wait();
        got -= own;
        budget.give_back(own);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == 0);
  REQUIRE(budget.admitted() == 0);
  REQUIRE(budget.inconsistencies() == 0);
}
