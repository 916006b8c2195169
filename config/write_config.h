// GuardConfig -> the text of a configuration file.
#pragma once

#include <string>

#include "core/guard_config.h"

namespace vramguard {

// A whole file that reads back to the same values. The administrator's caps, `quiet`, `state_dir`, `source` and the
// strength of a budget's source are no keys of a file and are left out. Every text in `config` must be UTF-8.
std::string write_config(const GuardConfig& config);

}  // namespace vramguard
