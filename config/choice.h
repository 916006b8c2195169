// The words of each enumeration in the configuration, in the order of its enumerators.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "config/value.h"

namespace vramguard {

inline constexpr std::array<std::string_view, 3> kVirtualizeWords{"all", "cuda", "none"};
inline constexpr std::array<std::string_view, 3> kManagedWords{"host", "count", "ignore"};
inline constexpr std::array<std::string_view, 2> kModeWords{"enforce", "observe"};
inline constexpr std::array<std::string_view, 5> kPolicyWords{"fail", "retry-after-free", "wait-and-retry",
                                                              "checkpoint-and-fail", "spill"};
inline constexpr std::array<std::string_view, 3> kDeferWords{"auto", "never", "always"};
inline constexpr std::array<std::string_view, 3> kScopeWords{"budget", "device", "worst"};
inline constexpr std::array<std::string_view, 3> kLogTargetWords{"file", "stderr", "none"};
inline constexpr std::array<std::string_view, 2> kLogFormatWords{"logfmt", "json"};
inline constexpr std::array<std::string_view, 4> kLogLevelWords{"error", "warn", "info", "debug"};
inline constexpr std::array<std::string_view, 5> kPressureLevelWords{"none", "low", "medium", "high", "critical"};
inline constexpr std::array<std::string_view, 4> kHookEventWords{"pressure", "oom", "oom-returned", "budget"};
inline constexpr std::array<std::string_view, 3> kSignalTargetWords{"self", "parent", "group"};

// The enumerator of a Choice that was checked to be one of `words`.
template <typename Enum, std::size_t N>
Enum choice(const Value& value, const std::array<std::string_view, N>& words) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == std::get<std::string>(value)) index = i;
  }
  return static_cast<Enum>(index);
}

template <typename Enum, std::size_t N>
std::string_view word_of(Enum value, const std::array<std::string_view, N>& words) {
  return words[static_cast<std::size_t>(value)];
}

}  // namespace vramguard
