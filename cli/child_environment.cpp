#include "cli/child_environment.h"

namespace vramguard {

ChildEnvironment::ChildEnvironment(const char* const* environ) {
  for (; environ != nullptr && *environ != nullptr; ++environ) variables_.emplace_back(*environ);
}

std::string ChildEnvironment::get(std::string_view name) const {
  for (const std::string& variable : variables_) {
    if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=') {
      return variable.substr(name.size() + 1);
    }
  }
  return "";
}

void ChildEnvironment::set(std::string_view name, const std::string& value) {
  std::erase_if(variables_, [&](const std::string& variable) {
    return variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=';
  });
  variables_.push_back(std::string(name) + "=" + value);
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
