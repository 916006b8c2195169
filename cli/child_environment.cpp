#include "cli/child_environment.h"

#include <algorithm>

namespace vramguard {
namespace {

bool sets(std::string_view variable, std::string_view name) {
  return variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=';
}

}  // namespace

ChildEnvironment::ChildEnvironment(const char* const* environ) {
  for (; environ != nullptr && *environ != nullptr; ++environ) variables_.emplace_back(*environ);
}

std::string ChildEnvironment::get(std::string_view name) const {
  for (const std::string& variable : variables_) {
    if (sets(variable, name)) return variable.substr(name.size() + 1);
  }
  return "";
}

bool ChildEnvironment::has(std::string_view name) const {
  return std::any_of(variables_.begin(), variables_.end(),
                     [&](const std::string& variable) { return sets(variable, name); });
}

void ChildEnvironment::set(std::string_view name, const std::string& value) {
  remove(name);
  variables_.push_back(std::string(name) + "=" + value);
}

void ChildEnvironment::remove(std::string_view name) {
  std::erase_if(variables_, [&](const std::string& variable) { return sets(variable, name); });
}

const char* const* ChildEnvironment::pointers() {
  pointers_.clear();
  for (const std::string& variable : variables_) pointers_.push_back(variable.c_str());
  pointers_.push_back(nullptr);
  return pointers_.data();
}

std::string with_preload(std::string_view preload, const std::string& library) {
  std::string out = library;
  while (!preload.empty()) {
    const std::size_t end = preload.find_first_of(": ");
    const std::string_view entry = preload.substr(0, end);
    preload = end == std::string_view::npos ? std::string_view{} : preload.substr(end + 1);
    const bool ours = entry.substr(entry.rfind('/') + 1) == "libvramguard.so";
    if (!entry.empty() && !ours) out += ":" + std::string(entry);
  }
  return out;
}

std::string with_asan_option(const std::string& options) {
  if (options.find("verify_asan_link_order") != std::string::npos) return options;
  return (options.empty() ? "" : options + ":") + "verify_asan_link_order=0";
}

}  // namespace vramguard
