#include "core/command_environment.h"

#include <unistd.h>

#include <algorithm>

namespace vramguard {

namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kPrefix = "VRAMGUARD_HOOK_";
constexpr std::string_view kLibrary = "libvramguard.so";

bool is_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

std::string without_our_library(std::string_view preload) {
  std::string rest;
  while (!preload.empty()) {
    // As the loader separates them.
    const std::size_t end = std::min(preload.find_first_of(": "), preload.size());
    const std::string_view entry = preload.substr(0, end);
    preload.remove_prefix(std::min(end + 1, preload.size()));
    if (entry.empty() || entry.substr(entry.rfind('/') + 1) == kLibrary) continue;
    if (!rest.empty()) rest += ':';
    rest += entry;
  }
  return rest;
}

HookEnvironment::HookEnvironment() : HookEnvironment(environ) {}

HookEnvironment::HookEnvironment(const char* const* environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    if (variable.starts_with(kPrefix)) continue;  // of a hook that this program itself is part of
    if (!variable.starts_with(kPreload)) {
      inherited_.emplace_back(variable);
      continue;
    }
    const std::string rest = without_our_library(variable.substr(kPreload.size()));
    if (!rest.empty()) inherited_.push_back(std::string(kPreload) + rest);
  }
}

CommandEnvironment HookEnvironment::with(const std::vector<std::pair<std::string, std::string>>& values) const {
  CommandEnvironment result;
  for (const auto& [name, value] : values) {
    if (!is_name(name)) continue;
    std::string variable = name.starts_with(kPrefix) ? name : std::string(kPrefix) + name;
    const std::size_t begin = variable.size() + 1;
    variable += '=';
    variable += value;
    std::replace(variable.begin() + static_cast<std::ptrdiff_t>(begin), variable.end(), '\0', '?');
    result.own_.push_back(std::move(variable));
  }
  result.pointers_.reserve(inherited_.size() + result.own_.size() + 1);
  for (const std::string& variable : inherited_) result.pointers_.push_back(variable.c_str());
  for (const std::string& variable : result.own_) result.pointers_.push_back(variable.c_str());
  result.pointers_.push_back(nullptr);
  return result;
}

}  // namespace vramguard
