#include "core/card_pressure.h"

#include <catch2/catch.hpp>

using namespace vramguard;
using std::chrono::seconds;

namespace {

const MonotonicTime kStart{std::chrono::hours(1)};

struct Card {
  Card() { pressure.set_boundaries(PressureConfig{}, 10_GiB); }
  CardPressure pressure;
};

}  // namespace

TEST_CASE("the card's level follows what it has free, whoever uses it", "[card_pressure]") {
  Card card;
  REQUIRE_FALSE(card.pressure.evaluate(kStart, 9_GiB));
  const auto change = card.pressure.evaluate(kStart + seconds(1), 400_MiB);
  REQUIRE(change);
  REQUIRE(change->to == PressureLevel::High);
  REQUIRE(change->free == 400_MiB);
  REQUIRE(change->used == 10_GiB - 400_MiB);
  REQUIRE(change->budget == 10_GiB);
  REQUIRE(card.pressure.published() == PressureLevel::High);
}

TEST_CASE("an OOM that was returned makes the card's level critical, for two seconds after the last",
          "[card_pressure]") {
  Card card;
  card.pressure.evaluate(kStart, 9_GiB);
  card.pressure.oom_was_returned(kStart + seconds(1));
  REQUIRE(card.pressure.evaluate(kStart + seconds(1), 9_GiB)->to == PressureLevel::Critical);
  card.pressure.oom_was_returned(kStart + seconds(2));
  REQUIRE_FALSE(card.pressure.evaluate(kStart + seconds(3), 9_GiB));
  REQUIRE(card.pressure.next_deadline() <= kStart + seconds(4));
  REQUIRE(card.pressure.evaluate(kStart + seconds(4), 9_GiB)->to == PressureLevel::None);
  REQUIRE_FALSE(card.pressure.evaluate(kStart + seconds(60), 9_GiB));
}
