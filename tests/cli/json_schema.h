// Whether what a command writes for programs is as its schema in docs/schema says.
#pragma once

#include "tests/support/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace vramguard {

// What is not, is on standard output.
inline bool conforms(const std::string& schema, const std::string& json) {
  const TemporaryFolder folder;
  const std::string source = VRAMGUARD_SOURCE_DIR;
  std::ofstream(folder.path() + "/it.json") << json;
  const std::string check = "python3 " + source + "/tests/support/check_json.py " + source + "/docs/schema/" + schema +
                            " " + folder.path() + "/it.json";
  return std::system(check.c_str()) == 0;
}

}  // namespace vramguard
