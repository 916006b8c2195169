// The environment of the command that `run` starts: ours, with what the guard needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramguard {

// Owns its variables. `pointers` is what execve takes; valid until the next change.
class ChildEnvironment {
 public:
  explicit ChildEnvironment(const char* const* environ);

  std::string get(std::string_view name) const;  // "" if it is not set
  bool has(std::string_view name) const;
  void set(std::string_view name, const std::string& value);
  void remove(std::string_view name);
  const char* const* pointers();

 private:
  std::vector<std::string> variables_;
  std::vector<const char*> pointers_;
};

// The value of LD_PRELOAD with `library` in front of what is there, and no second time.
std::string with_preload(std::string_view preload, const std::string& library);

// The value of ASAN_OPTIONS under which a program built with AddressSanitizer starts although something is preloaded;
// what is there is kept. Any other program ignores it, and so do its children that are none.
std::string with_asan_option(const std::string& options);

}  // namespace vramguard
