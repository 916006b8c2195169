// Files and environment -> GuardConfig, with everything that is wrong with them in one pass.
#pragma once

#include <string>
#include <vector>

#include "config/diagnostic.h"
#include "config/environment.h"
#include "core/guard_config.h"

namespace vramguard {

// Where to look. Tests and `vramguard check FILE` change it.
struct ConfigPaths {
  std::string etc_folder = "/etc/vramguard";
  std::string only_file;  // when set, read instead of the list, as with VRAMGUARD_CONFIG
  bool secure = false;    // a setuid program: /etc alone, no environment, no hooks
};

// The real places, for this process.
ConfigPaths system_paths() noexcept;

// A key with the value that holds, and where it came from: for `vramguard check`.
struct EffectiveValue {
  std::string key;  // "pressure.low", "gpu.\"cuda:0\".budget"
  std::string text;
  Place place;  // empty for a default
};

// Owns everything; a plain value.
struct LoadResult {
  GuardConfig config;
  std::vector<Diagnostic> diagnostics;  // in the order in which the sources were read
  std::vector<EffectiveValue> values;

  bool ok() const noexcept;  // no error among the diagnostics
};

// Thread-safe as far as `environment` stays as it is. Never throws; opens and reads files, and does nothing else to the
// process: no loader calls, no user look-ups, no locale.
LoadResult load_config(const Environment& environment, const ConfigPaths& paths) noexcept;

}  // namespace vramguard
