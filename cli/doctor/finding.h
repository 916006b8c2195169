// What `vramguard doctor` finds out.
#pragma once

#include <string>
#include <vector>

namespace vramguard {

enum class Finding { Ok, Hint, Problem };

// One thing that was looked at. A plain value; its texts are printable and have no line ends.
struct Diagnosis {
  Finding finding = Finding::Ok;
  std::string subject;  // one or two words
  std::string message;
  std::string remedy;  // what to do about it; "" where all is well
};
using Diagnoses = std::vector<Diagnosis>;

inline Diagnosis good(std::string subject, std::string message) {
  return {Finding::Ok, std::move(subject), std::move(message), ""};
}
inline Diagnosis hint(std::string subject, std::string message, std::string remedy) {
  return {Finding::Hint, std::move(subject), std::move(message), std::move(remedy)};
}
inline Diagnosis problem(std::string subject, std::string message, std::string remedy) {
  return {Finding::Problem, std::move(subject), std::move(message), std::move(remedy)};
}

}  // namespace vramguard
