// Signals by the names that people write.
#pragma once

#include <optional>
#include <string_view>

namespace vramguard {

// "SIGUSR1", "USR1", "RTMIN+3", "SIGRTMAX-1" or "10". Nothing for what is no signal of this system, 0 included, and for
// the two that the C library keeps for itself.
std::optional<int> parse_signal_name(std::string_view text) noexcept;

}  // namespace vramguard
