// One file's text -> settings.
#pragma once

#include <string>

#include "config/read_file.h"
#include "config/settings.h"

namespace vramguard {

enum class FileRole { Config, Limits };

// Reads every key of `file`, known by the name `path` in messages. `distrust` in it keeps its hooks from being taken.
void read_keys(const FileText& file, const std::string& path, FileRole role, Settings& settings);

}  // namespace vramguard
