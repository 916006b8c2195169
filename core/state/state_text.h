// Texts of fixed size in shared memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace vramguard {

// Cuts what is too long, and always ends it.
template <std::size_t N>
void set_state_text(char (&field)[N], std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), N - 1);
  std::copy_n(text.begin(), size, field);
  std::fill(field + size, field + N, '\0');
}

// Of any content: up to the first zero byte, or all.
template <std::size_t N>
std::string state_text(const char (&field)[N]) {
  return {field, std::find(field, field + N, '\0')};
}

}  // namespace vramguard
