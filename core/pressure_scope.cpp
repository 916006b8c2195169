#include "core/pressure_scope.h"

#include <algorithm>

namespace vramguard {

const char* to_string(PressureScope scope) noexcept {
  switch (scope) {
    case PressureScope::Budget:
      return "budget";
    case PressureScope::Device:
      return "device";
    case PressureScope::Worst:
      return "worst";
  }
  return "";
}

ScopedPressure pressure_by(PressureScope scope, PressureLevel before, const PressureView& budget,
                           const PressureView& card) noexcept {
  switch (scope) {
    case PressureScope::Budget:
      return {budget.level, scope, budget.change};
    case PressureScope::Device:
      return {card.level, scope, card.change};
    case PressureScope::Worst:
      break;
  }
  const PressureLevel now = std::max(budget.level, card.level);
  const bool by_card = card.level > budget.level || (card.level == budget.level && card.change && !budget.change);
  const PressureView& told = by_card ? card : budget;
  ScopedPressure result{now, by_card ? PressureScope::Device : PressureScope::Budget, {}};
  if (now != before) result.change = PressureTransition{before, now, told.free, told.used, told.total};
  return result;
}

}  // namespace vramguard
