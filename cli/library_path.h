// Where libvramguard.so is: beside this program (a build tree) or in the library folder next to it (installed).
#pragma once

#include <string>
#include <vector>

namespace vramguard {

// The folder of the running program, with symbolic links resolved.
std::string own_folder();
// The places to look, best first.
std::vector<std::string> library_places(const std::string& program_folder);
// The first that exists, or "".
std::string find_library();

}  // namespace vramguard
