// A look at a TOML text before the parser sees it: what would make any parser recurse without end is refused here.
#pragma once

#include <optional>
#include <string_view>

#include "config/toml_document.h"

namespace vramguard {

// NUL bytes, and dotted keys of more than 16 parts ("a.a.a..."): the parser's tree of those is destroyed recursively
// and has no limit of its own.
std::optional<TomlError> find_unreasonable_text(std::string_view text);

}  // namespace vramguard
