// The times that people write for `vramguard log --since`.
#pragma once

#include "core/clock.h"

#include <string>
#include <string_view>
#include <variant>

namespace vramguard {

// "90s", "10m", "2h" or "3d" before `now`; "2026-11-30", "2026-11-30T12:00", "2026-11-30 12:00:00" in local time, or in
// UTC with a Z at the end; "12:30", the last time that a clock showed it. Else what is wrong, for a person.
std::variant<WallTime, std::string> parse_since(std::string_view text, WallTime now);

// As the log writes it, so that two of them compare as texts: "2026-11-30T12:00:00.000Z".
std::string log_time(WallTime time);

}  // namespace vramguard
