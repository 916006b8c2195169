// Small files that processes share by mapping them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <variant>

#include "core/state/state_folder.h"

namespace vramguard {

// A mapping stays until the process ends, or unmap(); no descriptor is kept. All of the file's space is allocated when
// it is made: a full file system is a problem then, and never a signal later.

// What the names of files begin with that are being made, and are of no interest to anybody.
inline constexpr char kHiddenPrefix[] = ".vg-";

// A fresh file of `bytes` zeros under a name that nobody looks at, mapped for writing.
struct FreshFile {
  std::string hidden_path;
  void* memory;
};
std::variant<FreshFile, StateProblem> make_shared_file(const std::string& folder, const std::string& name,
                                                       std::size_t bytes, mode_t mode);
// Gives it its name, in one step and only if there is no such file: false otherwise. The hidden name is gone either
// way.
bool publish(const FreshFile& file, const std::string& path) noexcept;

// An existing file of this user's own (for root, of anybody's), no symbolic link, of exactly `bytes`, mapped for
// writing.
std::variant<void*, StateProblem> map_shared_file(const std::string& path, std::size_t bytes);

void unmap(void* memory, std::size_t bytes) noexcept;

}  // namespace vramguard
