#include "core/state/series.h"

#include "core/state/state_reader.h"

namespace vramguard {
namespace {

bool is_name_character(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

// A name at the start of `text`, taken off it; "" if there is none.
std::string take_name(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_name_character(text[size], size == 0)) ++size;
  std::string name(text.substr(0, size));
  text.remove_prefix(size);
  return name;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

// What stands before the closing quote, which is taken off as well.
std::optional<std::string> take_value(std::string_view& text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      text.remove_prefix(i + 1);
      return printable(std::move(value));
    }
    if (c == '\\') {
      if (++i == text.size()) return std::nullopt;
      c = text[i];
      if (c != '\\' && c != '"') return std::nullopt;
    }
    value += c;
  }
  return std::nullopt;
}

}  // namespace

std::string escaped_label(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string series_text(std::string_view name, const Labels& labels) {
  std::string text(name);
  char before = '{';
  for (const auto& [label, value] : labels) {
    text += before;
    text += label + "=\"" + escaped_label(value) + '"';
    before = ',';
  }
  if (!labels.empty()) text += '}';
  return text;
}

std::optional<Series> parse_series(std::string_view text) {
  Series series{take_name(text), {}};
  if (series.name.empty()) return std::nullopt;
  if (text.empty()) return series;
  if (!take(text, "{")) return std::nullopt;
  do {
    std::string label = take_name(text);
    if (label.empty() || !take(text, "=\"")) return std::nullopt;
    std::optional<std::string> value = take_value(text);
    if (!value) return std::nullopt;
    series.labels.emplace_back(std::move(label), std::move(*value));
  } while (take(text, ","));
  if (text != "}") return std::nullopt;
  return series;
}

}  // namespace vramguard
