#include "config/toml_nesting.h"

namespace vramguard {
namespace {

constexpr int kMostDots = 15;

// Length of the string literal that opens at the front of `text`, or of the rest when nothing closes it.
std::size_t string_length(std::string_view text) {
  const char quote = text[0];
  const bool triple = text.size() >= 3 && text[1] == quote && text[2] == quote;
  const std::size_t width = triple ? 3 : 1;
  for (std::size_t i = width; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == '\n' && !triple) {
      return i;
    } else if (text[i] == quote && (!triple || text.substr(i, 3) == text.substr(0, 3))) {
      return i + width;
    }
  }
  return text.size();
}

}  // namespace

std::optional<TomlError> find_unreasonable_text(std::string_view text) {
  int line = 1;
  std::size_t line_start = 0;
  const auto error = [&](std::size_t at, const char* message) {
    return TomlError{message, {line, static_cast<int>(at - line_start) + 1}};
  };

  int dots = 0;  // of the key that is being read, if it is one
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t last = i;
    switch (text[i]) {
      case '"':
      case '\'':
        last = i + string_length(text.substr(i)) - 1;
        break;
      case '#':
        while (last + 1 < text.size() && text[last + 1] != '\n') ++last;
        break;
      case '.':
        if (++dots > kMostDots) return error(i, "a key with more than 16 parts");
        break;
      case '\n':
      case '=':
      case ',':
      case '{':
      case '}':
      case '[':
      case ']':
        dots = 0;
        break;
      default:
        break;
    }
    for (; i <= last; ++i) {
      if (text[i] == '\0') return error(i, "the file has a NUL byte in it; it is not text");
      if (text[i] == '\n') {
        ++line;
        line_start = i + 1;
      }
    }
    i = last;
  }
  return std::nullopt;
}

}  // namespace vramguard
