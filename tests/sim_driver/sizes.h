// Sizes as people write them: "80GiB", "512MiB", "1.5GiB", or plain bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgsim {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;
inline constexpr std::uint64_t kPageBytes = 2 * kMiB;

// Pages that `bytes` take.
inline constexpr std::uint64_t pages_of(std::uint64_t bytes) {
  return bytes / kPageBytes + (bytes % kPageBytes != 0 ? 1 : 0);
}

std::optional<std::uint64_t> parse_size(std::string_view text);

// The parts between commas, without blanks around them; an empty text has no parts.
std::vector<std::string> split_list(std::string_view text);

}  // namespace vgsim
