// The few lines that the library may write on stderr.
#pragma once

#include <string_view>

namespace vramguard {

// One write, with "vramguard: " before and a line end behind it. Never raises a signal.
void write_stderr_line(std::string_view text) noexcept;

// What every refusal to start ends with.
constexpr std::string_view kHowToGoOn =
    "cuInit fails (VRAMGUARD=0 switches vramguard off, VRAMGUARD_ON_ERROR=run goes on without a budget)";
constexpr std::string_view kGoingOn = "going on without a budget (VRAMGUARD_ON_ERROR=run)";

}  // namespace vramguard
