// The pressure levels, and the thresholds that part them, compiled to bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/budget.h"
#include "core/bytes.h"
#include "core/guard_config.h"
#include "core/pressure_level.h"

namespace vramguard {

// A level's threshold is the free bytes at and below which it is entered.
struct PressureBoundaries {
  Bytes budget = kUnlimitedBytes;
  Bytes low = 0;
  Bytes medium = 0;
  Bytes high = 0;
  Bytes hysteresis = 0;  // a level is left when more than its threshold and this is free
  friend bool operator==(const PressureBoundaries&, const PressureBoundaries&) = default;

  Bytes threshold(PressureLevel level) const noexcept;  // of Low to Critical; Critical's is 0
};

// Percentages are of `budget`; the lower of the two where a threshold has both. kUnlimitedBytes gives no boundaries.
PressureBoundaries compile(const PressureConfig& config, Bytes budget) noexcept;

// Two neighbouring thresholds that are not strictly falling, by their configuration keys.
struct NotFalling {
  std::string_view upper;
  std::string_view lower;
};
// nullopt: they fall. For a PressureConfig: only what is wrong for every budget ("10%" above "2GiB" depends on it).
std::optional<NotFalling> check_strictly_falling(const PressureConfig& config) noexcept;
std::optional<NotFalling> check_strictly_falling(const PressureBoundaries& boundaries) noexcept;

// A change of level that is worth a record.
struct PressureTransition {
  PressureLevel from;
  PressureLevel to;
  Bytes free;
  Bytes used;
  Bytes budget;
};

}  // namespace vramguard
