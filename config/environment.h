// The environment as a plain view, so that tests pass their own and nothing here calls getenv.
#pragma once

#include <optional>
#include <string_view>

namespace vramguard {

// A view of an array like `environ`; may be null. Not thread-safe against a host that changes its environment.
struct Environment {
  const char* const* entries = nullptr;

  // The first entry of that name, as getenv would find it.
  std::optional<std::string_view> get(std::string_view name) const noexcept {
    for (const char* const* entry = entries; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (text.size() > name.size() && text.substr(0, name.size()) == name && text[name.size()] == '=') {
        return text.substr(name.size() + 1);
      }
    }
    return std::nullopt;
  }
};

}  // namespace vramguard
