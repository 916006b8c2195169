// Lays a table out for people: columns side by side, and fewer of them where there is little room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vramguard {

struct TextColumn {
  std::string title;
  int priority = 0;       // those with the lowest go first where there is no room for all
  bool right = false;     // to which side its cells are moved
  std::size_t least = 0;  // it may be cut to so many characters, before any column goes; 0: never
};

struct TextRow {
  std::vector<std::string> cells;  // one for each column; printable
  std::string colour;              // of the row, as the numbers of an SGR sequence; "" for none
};

struct TextStyle {
  std::size_t width = SIZE_MAX;  // of a line
  bool colour = false;
};

// The title line and one for each row.
std::vector<std::string> lay_out(const std::vector<TextColumn>& columns, const std::vector<TextRow>& rows,
                                 const TextStyle& style);

// Characters, as a terminal counts most of them.
std::size_t text_width(std::string_view text) noexcept;
// The beginning of `text`, at most so many characters wide; '~' ends one that was cut.
std::string cut_text(const std::string& text, std::size_t width);
// `text` in that colour where there is any.
std::string coloured(const std::string& text, const std::string& colour, const TextStyle& style);

}  // namespace vramguard
