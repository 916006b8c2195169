// The text of a TOML value for a key, if it has a type that the key can take.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/keys.h"
#include "config/settings.h"
#include "config/toml_document.h"

namespace vramguard {

// nullopt after an error that says what the key takes. `label` is the key's name in messages.
std::optional<std::string> text_for(const Key& key, std::string_view label, const TomlValue& value,
                                    const std::string& path, Settings& settings);

}  // namespace vramguard
