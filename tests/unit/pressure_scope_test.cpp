#include "core/pressure_scope.h"

#include <catch2/catch.hpp>

namespace vramguard {
namespace {

using Level = PressureLevel;

PressureView view(Level level, Bytes total, std::optional<Level> from = {}) {
  PressureView result{level, {}, total / 4, total - total / 4, total};
  if (from) result.change = PressureTransition{*from, level, result.free, result.used, result.total};
  return result;
}

TEST_CASE("by the budget or by the card only the one counts", "[pressure]") {
  const PressureView budget = view(Level::High, 4_GiB, Level::None), card = view(Level::Low, 16_GiB, Level::Medium);
  const ScopedPressure by_budget = pressure_by(PressureScope::Budget, Level::None, budget, card);
  CHECK(by_budget.level == Level::High);
  CHECK(by_budget.scope == PressureScope::Budget);
  CHECK(by_budget.change->budget == 4_GiB);
  const ScopedPressure by_card = pressure_by(PressureScope::Device, Level::Medium, budget, card);
  CHECK(by_card.level == Level::Low);
  CHECK(by_card.scope == PressureScope::Device);
  CHECK(by_card.change->from == Level::Medium);
  CHECK(by_card.change->budget == 16_GiB);
  CHECK_FALSE(pressure_by(PressureScope::Device, Level::Low, budget, view(Level::Low, 16_GiB)).change);
}

TEST_CASE("of the worse one its own numbers are told", "[pressure]") {
  const ScopedPressure rises = pressure_by(PressureScope::Worst, Level::Low, view(Level::Low, 4_GiB),
                                           view(Level::Critical, 16_GiB, Level::None));
  CHECK(rises.level == Level::Critical);
  CHECK(rises.scope == PressureScope::Device);
  REQUIRE(rises.change);
  CHECK(rises.change->from == Level::Low);
  CHECK(rises.change->to == Level::Critical);
  CHECK(rises.change->free == 4_GiB);
  CHECK(rises.change->used == 12_GiB);
  CHECK(rises.change->budget == 16_GiB);
}

TEST_CASE("a fall to the level that the other one still holds is told with that one's numbers", "[pressure]") {
  const ScopedPressure falls =
      pressure_by(PressureScope::Worst, Level::High, view(Level::None, 4_GiB, Level::High), view(Level::Low, 16_GiB));
  CHECK(falls.level == Level::Low);
  CHECK(falls.scope == PressureScope::Device);
  REQUIRE(falls.change);
  CHECK(falls.change->from == Level::High);
  CHECK(falls.change->to == Level::Low);
  CHECK(falls.change->budget == 16_GiB);
}

TEST_CASE("what changes below the worse one is not told", "[pressure]") {
  const PressureView card = view(Level::High, 16_GiB);
  const ScopedPressure same =
      pressure_by(PressureScope::Worst, Level::High, view(Level::Medium, 4_GiB, Level::None), card);
  CHECK(same.level == Level::High);
  CHECK_FALSE(same.change);
  CHECK_FALSE(pressure_by(PressureScope::Worst, Level::High, view(Level::High, 4_GiB, Level::Low), card).change);
}

TEST_CASE("of two equal levels the one that has changed is told, and the budget where both have", "[pressure]") {
  const auto scope = [](std::optional<Level> budget_from, std::optional<Level> card_from) {
    return pressure_by(PressureScope::Worst, Level::Low, view(Level::High, 4_GiB, budget_from),
                       view(Level::High, 16_GiB, card_from))
        .scope;
  };
  CHECK(scope(Level::Low, {}) == PressureScope::Budget);
  CHECK(scope({}, Level::Low) == PressureScope::Device);
  CHECK(scope(Level::Low, Level::Low) == PressureScope::Budget);
}

}  // namespace
}  // namespace vramguard
