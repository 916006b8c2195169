// What a line of the pressure log says of itself, in both of its formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramguard {

// The keys that start every record, as they stand in the line: texts may hold escapes. Points into the line.
struct LogHead {
  std::string_view ts;
  std::string_view level;
  std::string_view event;
  std::string_view comm;
  std::int64_t pid = 0;
  std::uint64_t seq = 0;
};

// nullopt for what is no record: a line that was cut short, or written by somebody else.
std::optional<LogHead> read_log_head(std::string_view line);

}  // namespace vramguard
