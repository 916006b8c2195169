// The environment of a command: the program's own, without our library, with what the command is told.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramguard {

// Belongs to one thread. Keeps what its pointers point to, but for the HookEnvironment that made it.
class CommandEnvironment {
 public:
  CommandEnvironment() = default;
  CommandEnvironment(CommandEnvironment&&) = default;
  CommandEnvironment& operator=(CommandEnvironment&&) = default;

  // For CommandSpec.
  const char* const* pointers() const noexcept { return pointers_.empty() ? kNone : pointers_.data(); }

 private:
  friend class HookEnvironment;
  static constexpr const char* kNone[] = {nullptr};

  std::vector<std::string> own_;
  std::vector<const char*> pointers_;
};

// Immutable once made, so thread-safe. The program may change its environment at any time: read it once, early.
class HookEnvironment {
 public:
  // That of the process as it is now. Throws std::bad_alloc.
  HookEnvironment();
  // Throws std::bad_alloc.
  explicit HookEnvironment(const char* const* environment);

  // Adds each value under its name, "VRAMGUARD_HOOK_" put before a name that lacks it. A NUL in a value becomes '?'; a
  // name that no variable can have is left out. Must not outlive this object. Throws std::bad_alloc.
  CommandEnvironment with(const std::vector<std::pair<std::string, std::string>>& values) const;

 private:
  std::vector<std::string> inherited_;
};

// The value of LD_PRELOAD without our library, wherever it lies; the others stay in order.
std::string without_our_library(std::string_view preload);

}  // namespace vramguard
