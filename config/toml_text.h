// Texts and lists as TOML writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/toml_document.h"

namespace vramguard {

// In quotes, with everything escaped that a one-line text must not hold. `text` must be UTF-8.
std::string toml_text(std::string_view text);
// ["a", "b"]
std::string toml_list(const std::vector<std::string>& texts);

// The texts of an array; items of other kinds are left out.
std::vector<std::string> texts_of(const TomlValue& array);

}  // namespace vramguard
