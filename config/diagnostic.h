// One thing that is wrong with the configuration, with its place and what to write instead.
#pragma once

#include <string>

namespace vramguard {

enum class Severity { Error, Warning };

// Where a value or a mistake was written. A plain value.
struct Place {
  std::string file;  // "" when it was not in a file
  int line = 0;      // 0: the file as a whole
  int column = 0;
  std::string variable;  // the environment variable, else ""
};

// A plain value.
struct Diagnostic {
  Severity severity = Severity::Error;
  Place place;
  std::string key;         // "pressure.low"; "" when it is about no key
  std::string suggestion;  // the nearest right name, if there is one; it is in the message too
  std::string message;
};

// "config.toml:3" or "VRAMGUARD_BUDGET" or "default".
std::string to_string(const Place& place);
// "config.toml:3:8: error: unknown key 'mediun' in [pressure]; did you mean 'medium'?", without a line end.
std::string to_string(const Diagnostic& diagnostic);

}  // namespace vramguard
