#include "config/diagnostic.h"

namespace vramguard {

std::string to_string(const Place& place) {
  if (!place.variable.empty()) return place.variable;
  if (place.file.empty()) return "default";
  return place.line > 0 ? place.file + ":" + std::to_string(place.line) : place.file;
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string out;
  if (!diagnostic.place.variable.empty() || !diagnostic.place.file.empty()) {
    out = to_string(diagnostic.place);
    if (diagnostic.place.line > 0) out += ":" + std::to_string(diagnostic.place.column);
    out += ": ";
  }
  switch (diagnostic.severity) {
    case Severity::Error:
      out += "error: ";
      break;
    case Severity::Warning:
      out += "warning: ";
      break;
  }
  return out + diagnostic.message;
}

}  // namespace vramguard
