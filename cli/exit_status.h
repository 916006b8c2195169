// Exit statuses of the command, as in env(1) and timeout(1). Anything else is the guarded command's own.
#pragma once

namespace vramguard {

constexpr int kVramguardFailed = 125;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

}  // namespace vramguard
