// The [[hook]] tables of a file -> settings.
#pragma once

#include <string>

#include "config/settings.h"
#include "config/toml_document.h"

namespace vramguard {

// `distrust`: why this file may not define commands, "" if it may. Its hooks are checked all the same.
void read_hook_tables(const TomlMember& hooks, const std::string& path, const std::string& distrust,
                      Settings& settings);

}  // namespace vramguard
