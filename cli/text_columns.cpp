#include "cli/text_columns.h"

#include "core/utf8.h"

#include <algorithm>
#include <utility>

namespace vramguard {
namespace {

constexpr std::size_t kBetween = 2;

// The columns that are shown, by their places in the table, and how wide each is.
struct Layout {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths;
};

std::size_t total_width(const Layout& layout) {
  std::size_t total = 0;
  for (const std::size_t column : layout.shown) total += layout.widths[column] + kBetween;
  return layout.shown.empty() ? 0 : total - kBetween;
}

// Takes from the column that may be cut as much as is needed.
void cut_columns(const std::vector<TextColumn>& columns, std::size_t width, Layout& layout) {
  for (const std::size_t column : layout.shown) {
    const std::size_t total = total_width(layout);
    const std::size_t least = columns[column].least;
    if (total <= width || least == 0 || layout.widths[column] <= least) continue;
    layout.widths[column] -= std::min(total - width, layout.widths[column] - least);
  }
}

void drop_columns(const std::vector<TextColumn>& columns, std::size_t width, Layout& layout) {
  while (total_width(layout) > width && layout.shown.size() > 1) {
    layout.shown.erase(std::min_element(layout.shown.begin(), layout.shown.end(), [&](std::size_t a, std::size_t b) {
      return columns[a].priority < columns[b].priority;
    }));
  }
}

Layout fit(const std::vector<TextColumn>& columns, const std::vector<TextRow>& rows, std::size_t width) {
  Layout natural;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t widest = text_width(columns[i].title);
    for (const TextRow& row : rows) widest = std::max(widest, text_width(row.cells[i]));
    natural.shown.push_back(i);
    natural.widths.push_back(widest);
  }
  Layout layout = natural;
  cut_columns(columns, width, layout);
  drop_columns(columns, width, layout);
  // A column that went may have left room for the one that was cut before.
  layout.widths = natural.widths;
  cut_columns(columns, width, layout);
  return layout;
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<TextColumn>& columns, const Layout& layout,
                    std::size_t width) {
  std::string line;
  for (std::size_t i = 0; i < layout.shown.size(); ++i) {
    const std::size_t column = layout.shown[i];
    std::string cell = cut_text(cells[column], layout.widths[column]);
    const std::string space(layout.widths[column] - text_width(cell), ' ');
    if (i != 0) line.append(kBetween, ' ');
    line += columns[column].right ? space + cell : std::move(cell) + space;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return cut_text(line, width);
}

}  // namespace

std::size_t text_width(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cut_text(const std::string& text, std::size_t width) {
  if (text_width(text) <= width) return text;
  if (width == 0) return {};
  std::size_t at = 0;
  for (std::size_t taken = 0; taken + 1 < width && at < text.size(); ++taken) {
    at += std::max<std::size_t>(utf8_length(text, at), 1);
  }
  return text.substr(0, at) + "~";
}

std::string coloured(const std::string& text, const std::string& colour, const TextStyle& style) {
  return style.colour && !colour.empty() ? "\x1b[" + colour + "m" + text + "\x1b[0m" : text;
}

std::vector<std::string> lay_out(const std::vector<TextColumn>& columns, const std::vector<TextRow>& rows,
                                 const TextStyle& style) {
  const Layout layout = fit(columns, rows, style.width);
  std::vector<std::string> titles;
  for (const TextColumn& column : columns) titles.push_back(column.title);
  std::vector<std::string> lines{coloured(line_of(titles, columns, layout, style.width), "1", style)};
  for (const TextRow& row : rows)
    lines.push_back(coloured(line_of(row.cells, columns, layout, style.width), row.colour, style));
  return lines;
}

}  // namespace vramguard
