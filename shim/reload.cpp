#include "shim/reload.h"

#include <algorithm>
#include <vector>

#include "config/load_config.h"
#include "core/device_budget.h"
#include "shim/configuration.h"

namespace vramguard {

std::string reload_configuration(Guard& guard) {
  const Configuration* at_start = configuration();
  if (at_start == nullptr) return "no memory";
  std::vector<const char*> entries;
  for (const std::string& entry : at_start->environment) entries.push_back(entry.c_str());
  entries.push_back(nullptr);
  const LoadResult loaded = load_config({entries.data()}, system_paths());
  const auto error = std::ranges::find(loaded.diagnostics, Severity::Error, &Diagnostic::severity);
  if (error != loaded.diagnostics.end()) return to_string(*error) + "; nothing was changed";
  return guard.reconfigure(loaded.config);
}

}  // namespace vramguard
