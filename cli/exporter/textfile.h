// The file that node_exporter's textfile collector reads.
#pragma once

#include <optional>
#include <string>

namespace vramguard {

inline constexpr char kTextfile[] = "vramguard.prom";

// Replaces it in one step. Why it could not be, in words for a person.
std::optional<std::string> write_textfile(const std::string& folder, const std::string& text);

}  // namespace vramguard
