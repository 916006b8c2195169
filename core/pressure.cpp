#include "core/pressure.h"

#include <algorithm>

namespace vramguard {
namespace {

constexpr double kHysteresisPercent = 5.0;
constexpr Bytes kMostHysteresis = 1_GiB;

constexpr std::string_view kLowKey = "pressure.low";
constexpr std::string_view kMediumKey = "pressure.medium";
constexpr std::string_view kHighKey = "pressure.high";

Bytes share_of(Bytes budget, double percent) noexcept {
  if (!(percent > 0)) return 0;
  if (percent >= 100) return budget;
  return static_cast<Bytes>(static_cast<long double>(budget) * static_cast<long double>(percent) / 100.0L);
}

Bytes compile(const Threshold& threshold, Bytes budget) noexcept {
  if (!threshold.percent) return threshold.bytes.value_or(0);
  return std::min(share_of(budget, *threshold.percent), threshold.bytes.value_or(UINT64_MAX));
}

// Is `upper` at or below `lower` whatever the budget? Every part of `lower` has to be reached by the same part of
// `upper`: towards a small budget only percentages count, towards a large one only bytes.
bool never_above(const Threshold& upper, const Threshold& lower) noexcept {
  const auto reaches = [](const auto& part_of_upper, const auto& part_of_lower) {
    return !part_of_lower || (part_of_upper && *part_of_upper <= *part_of_lower);
  };
  return reaches(upper.percent, lower.percent) && reaches(upper.bytes, lower.bytes);
}

}  // namespace

std::string_view to_string(PressureLevel level) noexcept {
  switch (level) {
    case PressureLevel::None:
      return "none";
    case PressureLevel::Low:
      return "low";
    case PressureLevel::Medium:
      return "medium";
    case PressureLevel::High:
      return "high";
    case PressureLevel::Critical:
      return "critical";
  }
  return "unknown";
}

Bytes PressureBoundaries::threshold(PressureLevel level) const noexcept {
  switch (level) {
    case PressureLevel::None:
      return kUnlimitedBytes;
    case PressureLevel::Low:
      return low;
    case PressureLevel::Medium:
      return medium;
    case PressureLevel::High:
      return high;
    case PressureLevel::Critical:
      return 0;
  }
  return 0;
}

PressureBoundaries compile(const PressureConfig& config, Bytes budget) noexcept {
  if (budget == kUnlimitedBytes) return {};
  return {budget, compile(config.low, budget), compile(config.medium, budget), compile(config.high, budget),
          std::min(share_of(budget, kHysteresisPercent), kMostHysteresis)};
}

std::optional<NotFalling> check_strictly_falling(const PressureConfig& config) noexcept {
  if (never_above(config.low, config.medium)) return NotFalling{kLowKey, kMediumKey};
  if (never_above(config.medium, config.high)) return NotFalling{kMediumKey, kHighKey};
  return std::nullopt;
}

std::optional<NotFalling> check_strictly_falling(const PressureBoundaries& boundaries) noexcept {
  if (boundaries.budget == kUnlimitedBytes) return std::nullopt;
  if (boundaries.low <= boundaries.medium) return NotFalling{kLowKey, kMediumKey};
  if (boundaries.medium <= boundaries.high) return NotFalling{kMediumKey, kHighKey};
  return std::nullopt;
}

}  // namespace vramguard
