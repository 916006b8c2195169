#include "cli/library_path.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace vramguard {

std::string own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::vector<std::string> library_places(const std::string& program_folder) {
  const std::filesystem::path folder(program_folder);
  std::vector<std::string> places;
  for (const char* relative : {".", "../lib", "../" VRAMGUARD_LIBDIR}) {
    const std::string place = (folder / relative / "libvramguard.so").lexically_normal().string();
    if (places.empty() || places.back() != place) places.push_back(place);
  }
  return places;
}

std::string find_library() {
  for (const std::string& place : library_places(own_folder())) {
    if (access(place.c_str(), F_OK) == 0) return place;
  }
  return "";
}

}  // namespace vramguard
