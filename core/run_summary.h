// The line that a person sees after a guarded command.
#pragma once

#include <cstdint>
#include <string>

#include "core/budget.h"

namespace vramguard {

inline std::string run_summary(Bytes peak, Bytes budget, std::uint64_t refused, std::uint64_t recovered) {
  return "peak " + format_bytes(peak) + (budget == kUnlimitedBytes ? "" : " of " + format_bytes(budget)) + ", " +
         std::to_string(refused) + " refused, " + std::to_string(recovered) + " rescued";
}

}  // namespace vramguard
