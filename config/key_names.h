// Finds keys by name, and the key that somebody probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/keys.h"

namespace vramguard {

const Key* find_key(std::span<const Key> keys, std::string_view section, std::string_view name);
bool is_section(std::string_view name);

// For a key that is not there: the full name of what was probably meant ("pressure.medium"), and in words ("'medium'",
// or
// "'level' in [log]" when it belongs elsewhere). Both empty when nothing is near.
struct KeySuggestion {
  std::string name, words;
};
KeySuggestion suggest_key(std::span<const Key> keys, std::string_view section, std::string_view name);

}  // namespace vramguard
