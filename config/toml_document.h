// A TOML text as a plain tree with positions. The only door to the TOML library.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vramguard {

enum class TomlKind { Text, Integer, Float, Boolean, Date, Array, Table };

struct TomlPosition {
  int line = 1;
  int column = 1;
};

struct TomlMember;

// A value that owns what is below it.
struct TomlValue {
  TomlKind kind = TomlKind::Table;
  std::string text;                 // of a text, integer or boolean
  std::vector<TomlValue> items;     // of an array
  std::vector<TomlMember> members;  // of a table, in the order of the file
  TomlPosition at;
};

struct TomlMember {
  std::string key;
  TomlPosition key_at;
  TomlValue value;
};

struct TomlError {
  std::string message;
  TomlPosition at;
};

// The root table, or the first error of syntax. Nothing that a file can hold makes this throw (but lack of memory) or
// recurse deeper than a few dozen levels.
std::variant<TomlValue, TomlError> parse_toml(std::string_view text);

// "a whole number", for messages.
std::string_view describe(TomlKind kind);

}  // namespace vramguard
