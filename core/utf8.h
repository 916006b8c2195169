// The little of UTF-8 that printing a stranger's text safely needs.
#pragma once

#include <cstddef>
#include <string_view>

namespace vramguard {

// The bytes of the character that starts at `text[at]`; 0 if none well-formed does.
std::size_t utf8_length(std::string_view text, std::size_t at) noexcept;

bool is_utf8(std::string_view text) noexcept;

// The longest start of `text` of at most `max_bytes` bytes that does not end inside a character.
std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) noexcept;

}  // namespace vramguard
