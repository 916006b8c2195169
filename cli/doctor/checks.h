// What `vramguard doctor` looks at, each for itself. None of them changes anything.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/finding.h"
#include "cli/process_table.h"
#include "config/load_config.h"

namespace vramguard {

// libvramguard.so and the core beside it, tried out in a process of their own.
Diagnoses examine_library();
// Whether a command can be guarded.
Diagnoses examine_command(const std::string& command);
// Variables of this environment, what else is preloaded, MPS and MIG.
Diagnoses examine_environment();
// The folder in which processes tell of themselves, and who uses another one.
Diagnoses examine_state();
// Mistakes, and hooks that cannot run.
Diagnoses examine_configuration(const LoadResult& loaded);
Diagnoses examine_log(const LogConfig& log);
// The driver, and who uses the cards without a guard.
Diagnoses examine_devices(const ProcessTable& table);

// The drivers that vramguard was tried on, by the results in tests/gpu/results.
const std::vector<std::string>& tried_drivers();

}  // namespace vramguard
