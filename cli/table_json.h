// The table of processes for programs, as docs/schema/ps.json describes it.
#pragma once

#include <string>

#include "cli/process_table.h"

namespace vramguard {

// One object, with a line end.
std::string table_json(const ProcessTable& table);

}  // namespace vramguard
