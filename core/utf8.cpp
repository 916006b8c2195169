#include "core/utf8.h"

namespace vramguard {

namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

bool within(unsigned value, unsigned low, unsigned high) { return value >= low && value <= high; }

}  // namespace

// Table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t utf8_length(std::string_view text, std::size_t at) noexcept {
  const unsigned first = byte_at(text, at);
  const unsigned second = byte_at(text, at + 1);
  const auto continues = [&](std::size_t offset) { return within(byte_at(text, at + offset), 0x80, 0xBF); };

  if (first < 0x80) return at < text.size() ? 1 : 0;
  if (within(first, 0xC2, 0xDF)) return continues(1) ? 2 : 0;
  if (within(first, 0xE0, 0xEF)) {
    const bool fits = within(second, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return fits && continues(2) ? 3 : 0;
  }
  if (within(first, 0xF0, 0xF4)) {
    const bool fits = within(second, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return fits && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) return text;
  // A character has at most three bytes before the place where the cut falls.
  for (std::size_t back = 1; back <= 3 && back <= max_bytes; ++back) {
    const std::size_t start = max_bytes - back;
    if (back < utf8_length(text, start)) return text.substr(0, start);
  }
  return text.substr(0, max_bytes);
}

}  // namespace vramguard
