// Faults on demand: the nth call of a name fails, calls of a name are slow. Set by environment or with simctl.
#pragma once

#include "tests/sim_driver/function_id.h"

namespace vgsim {

// Counts the call, waits as long as it must, and returns the code it must fail with, or 0. Thread-safe.
int count_and_find_fault(Function function);

}  // namespace vgsim
