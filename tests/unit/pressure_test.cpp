#include "core/pressure.h"

#include <catch2/catch.hpp>

using namespace vramguard;

namespace {

PressureConfig config(Threshold low, Threshold medium, Threshold high) {
  return {PressureScope::Budget, low, medium, high};
}

}  // namespace

TEST_CASE("pressure levels have the names of the log", "[pressure]") {
  REQUIRE(to_string(PressureLevel::None) == "none");
  REQUIRE(to_string(PressureLevel::Low) == "low");
  REQUIRE(to_string(PressureLevel::Medium) == "medium");
  REQUIRE(to_string(PressureLevel::High) == "high");
  REQUIRE(to_string(PressureLevel::Critical) == "critical");
}

TEST_CASE("the default thresholds are 30, 10 and 5 % of the budget", "[pressure]") {
  const PressureBoundaries boundaries = compile({}, 10'000'000);
  REQUIRE(boundaries == PressureBoundaries{10'000'000, 3'000'000, 1'000'000, 500'000, 500'000});
  REQUIRE(boundaries.threshold(PressureLevel::Low) == 3'000'000);
  REQUIRE(boundaries.threshold(PressureLevel::Medium) == 1'000'000);
  REQUIRE(boundaries.threshold(PressureLevel::High) == 500'000);
  REQUIRE(boundaries.threshold(PressureLevel::Critical) == 0);
}

TEST_CASE("of a threshold with two parts the lower counts", "[pressure]") {
  const PressureConfig both = config({30.0, 8_GiB}, {10.0, 8_GiB}, {{}, 1_GiB});
  REQUIRE(compile(both, 20_GiB).low == 6_GiB);
  REQUIRE(compile(both, 40_GiB).low == 8_GiB);
  REQUIRE(compile(both, 40_GiB).medium == 4_GiB);
  REQUIRE(compile(both, 40_GiB).high == 1_GiB);
}

TEST_CASE("the hysteresis is 5 % of the budget and at most 1 GiB", "[pressure]") {
  REQUIRE(compile({}, 10_GiB).hysteresis == 512_MiB);
  REQUIRE(compile({}, 20_GiB).hysteresis == 1_GiB);
  REQUIRE(compile({}, 80_GiB).hysteresis == 1_GiB);
}

TEST_CASE("budgets at the ends of the range compile", "[pressure]") {
  REQUIRE(compile({}, kUnlimitedBytes) == PressureBoundaries{});
  REQUIRE(compile({}, 0) == PressureBoundaries{0, 0, 0, 0, 0});
  const Bytes huge = UINT64_MAX - 1;
  REQUIRE(compile(config({100.0, {}}, {50.0, {}}, {5.0, {}}), huge).low == huge);
  REQUIRE(compile(config({100.0, {}}, {50.0, {}}, {5.0, {}}), huge).medium <= huge / 2);
}

TEST_CASE("thresholds that do not fall are named by their keys", "[pressure]") {
  const auto keys = [](const auto& checked) {
    const auto wrong = check_strictly_falling(checked);
    return wrong ? std::string(wrong->upper) + " " + std::string(wrong->lower) : std::string();
  };
  REQUIRE(keys(PressureConfig{}).empty());
  REQUIRE(keys(compile({}, 10_GiB)).empty());
  REQUIRE(keys(PressureBoundaries{}).empty());

  const PressureConfig low_is_medium = config({10.0, {}}, {10.0, {}}, {5.0, {}});
  REQUIRE(keys(low_is_medium) == "pressure.low pressure.medium");
  REQUIRE(keys(compile(low_is_medium, 10_GiB)) == "pressure.low pressure.medium");
  const PressureConfig high_above_medium = config({{}, 9_GiB}, {{}, 1_GiB}, {{}, 2_GiB});
  REQUIRE(keys(high_above_medium) == "pressure.medium pressure.high");
  REQUIRE(keys(compile(high_above_medium, 20_GiB)) == "pressure.medium pressure.high");
}

TEST_CASE("without a budget only thresholds that can never fall are wrong", "[pressure]") {
  const auto wrong = [](Threshold low, Threshold medium) {
    return check_strictly_falling(config(low, medium, {{}, 1})).has_value();
  };
  REQUIRE_FALSE(wrong({10.0, {}}, {{}, 2_GiB}));       // falls from 20 GiB on
  REQUIRE_FALSE(wrong({{}, 2_GiB}, {10.0, {}}));       // falls below 20 GiB
  REQUIRE_FALSE(wrong({10.0, {}}, {20.0, 1_GiB}));     // falls from 10 GiB on
  REQUIRE_FALSE(wrong({20.0, 1_GiB}, {10.0, 2_GiB}));  // falls below 10 GiB
  REQUIRE(wrong({10.0, 1_GiB}, {10.0, 2_GiB}));
  REQUIRE(wrong({10.0, 1_GiB}, {10.0, {}}));
  REQUIRE(wrong({50.0, 1_GiB}, {{}, 1_GiB}));
}
