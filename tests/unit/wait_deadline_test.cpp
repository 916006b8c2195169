#include "core/wait_deadline.h"

#include <catch2/catch.hpp>

using namespace vramguard;
using std::chrono::seconds;

namespace {
const MonotonicTime kStart{std::chrono::hours(1)};
constexpr seconds kTimeout{30};
}  // namespace

TEST_CASE("requests of one thread in quick succession share one deadline", "[wait_deadline]") {
  WaitDeadlines deadlines;
  REQUIRE(deadlines.of(7, kStart, kTimeout) == kStart + kTimeout);
  deadlines.ended(7, kStart + seconds(30), false);
  REQUIRE(deadlines.of(7, kStart + seconds(32), kTimeout) == kStart + kTimeout);
  deadlines.ended(7, kStart + seconds(33), false);
  REQUIRE(deadlines.of(7, kStart + seconds(35), kTimeout) == kStart + kTimeout);
}

TEST_CASE("a request that comes later, or after one that was served, waits anew", "[wait_deadline]") {
  WaitDeadlines deadlines;
  deadlines.of(7, kStart, kTimeout);
  deadlines.ended(7, kStart + seconds(30), false);
  REQUIRE(deadlines.of(7, kStart + seconds(33), kTimeout) == kStart + seconds(63));
  deadlines.ended(7, kStart + seconds(40), true);
  REQUIRE(deadlines.of(7, kStart + seconds(40), kTimeout) == kStart + seconds(70));
}

TEST_CASE("each thread has its own deadline", "[wait_deadline]") {
  WaitDeadlines deadlines;
  deadlines.of(7, kStart, kTimeout);
  REQUIRE(deadlines.of(8, kStart + seconds(1), kTimeout) == kStart + seconds(31));
  deadlines.ended(8, kStart + seconds(1), true);
  REQUIRE(deadlines.of(7, kStart + seconds(1), kTimeout) == kStart + kTimeout);
}

TEST_CASE("of more threads than are remembered, the oldest waits anew", "[wait_deadline]") {
  WaitDeadlines deadlines;
  for (std::uint64_t thread = 1; thread <= 65; ++thread) deadlines.of(thread, kStart, kTimeout);
  REQUIRE(deadlines.of(65, kStart + seconds(1), kTimeout) == kStart + kTimeout);
  REQUIRE(deadlines.of(1, kStart + seconds(1), kTimeout) == kStart + seconds(31));
}
