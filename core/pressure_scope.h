// Whose pressure is told: that of the budget, that of the card, or the worse of the two.
#pragma once

#include <optional>

#include "core/pressure.h"

namespace vramguard {

const char* to_string(PressureScope scope) noexcept;

// One of the two as it is now, and the change that has just brought it there.
struct PressureView {
  PressureLevel level = PressureLevel::None;
  std::optional<PressureTransition> change;
  Bytes free = 0;
  Bytes used = 0;
  Bytes total = 0;  // the budget, or the card
};

struct ScopedPressure {
  PressureLevel level = PressureLevel::None;
  PressureScope scope = PressureScope::Budget;  // Budget or Device: whose numbers `change` has
  std::optional<PressureTransition> change;
};

// `before` is the level that was told last. Of two equal levels the one that has just changed is told, else the budget.
ScopedPressure pressure_by(PressureScope scope, PressureLevel before, const PressureView& budget,
                           const PressureView& card) noexcept;

}  // namespace vramguard
