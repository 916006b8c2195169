// Calls that ruin captures, the caller's own and those of other threads.
#pragma once

#include "tests/sim_driver/abi.h"
#include "tests/sim_driver/function_id.h"

namespace vgsim {

// How many captures there are. While there are none, capturing costs no call anything. Guarded by DriverLock.
extern int captures_going_on;

CUresult check_capture_rules(Function function);

// UNSUPPORTED, and the captures are ruined, where the calling thread may not make this call now.
inline CUresult forbidden_while_capturing(Function function) {
  return captures_going_on == 0 ? CUDA_SUCCESS : check_capture_rules(function);
}

}  // namespace vgsim
