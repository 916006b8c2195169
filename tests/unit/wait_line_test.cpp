#include "core/wait_line.h"

#include <catch2/catch.hpp>

#include <optional>

#include "tests/unit/allocation_failure.h"

using namespace vramguard;

TEST_CASE("whoever came first is first, and whoever leaves makes way for the next", "[wait_line]") {
  WaitLine line;
  std::optional<WaitLine::Place> first(std::in_place, line), second(std::in_place, line), third(std::in_place, line);
  REQUIRE(first->is_first());
  REQUIRE_FALSE(second->is_first());
  REQUIRE_FALSE(third->is_first());
  second.reset();  // gave up
  REQUIRE_FALSE(third->is_first());
  first.reset();
  REQUIRE(third->is_first());
  const WaitLine::Place fourth(line);
  REQUIRE_FALSE(fourth.is_first());
}

TEST_CASE("without memory for a place nobody is kept waiting, and nobody else's turn changes", "[wait_line]") {
  WaitLine line;
  std::optional<WaitLine::Place> placeless;
  {
    const AllocationFailure failure;
    placeless.emplace(line);
  }
  const WaitLine::Place first(line), second(line);
  REQUIRE(placeless->is_first());
  REQUIRE(first.is_first());
  REQUIRE_FALSE(second.is_first());
}
