// Reads a configuration file whole, and looks at what it is before believing it.
#pragma once

#include <sys/types.h>

#include <string>
#include <variant>

namespace vramguard {

constexpr std::size_t kLargestConfigFile = 1U << 20;

struct FileText {
  std::string text;
  std::string distrust;  // why it may not define commands; "" if it may
};

struct ReadError {
  // Missing: there is no such file. Hidden: a folder on the way may not be searched, so nobody knows.
  enum class Kind { Missing, Hidden, Unreadable };
  Kind kind;
  std::string message;
};

// Never waits (for a FIFO, say) and never changes anything.
std::variant<FileText, ReadError> read_file(const std::string& path, uid_t euid);

}  // namespace vramguard
