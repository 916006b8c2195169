// The levels of memory pressure, in rising order.
#pragma once

#include <cstdint>
#include <string_view>

namespace vramguard {

enum class PressureLevel : std::uint8_t { None, Low, Medium, High, Critical };

// "none", "low", ...
std::string_view to_string(PressureLevel level) noexcept;

}  // namespace vramguard
