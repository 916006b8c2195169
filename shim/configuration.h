// The configuration of this process, read once at its first cuInit.
#pragma once

#include <string>
#include <vector>

#include "core/guard_config.h"

namespace vramguard {

// Immutable once published, so thread-safe.
struct Configuration {
  GuardConfig config;
  bool usable = false;
  std::vector<std::string> environment;  // what of it the configuration depends on, as it was then
};

// Reads it at the first call, in every thread that comes meanwhile; the first to finish publishes, says on stderr what
// is wrong and writes it to the log. nullptr when there was no memory for it.
const Configuration* configuration() noexcept;

// "; cuInit fails (...)" or "; going on without a budget (...)": how each line ends that says why there is no guard.
const char* what_happens_now() noexcept;

}  // namespace vramguard
