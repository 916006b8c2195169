#include "tests/sim_driver/call.h"

#include "tests/sim_driver/faults.h"
#include "tests/sim_driver/trace.h"

namespace vgsim {
namespace {

thread_local const char* note_of_call = nullptr;

}  // namespace

void note_call(const char* note) { note_of_call = note; }

CUresult begin_call(Function function, Needs needs) {
  if (const int code = count_and_find_fault(function); code != 0) return static_cast<CUresult>(code);
  if (needs == Needs::Init && init_state() != InitState::Done) return CUDA_ERROR_NOT_INITIALIZED;
  return CUDA_SUCCESS;
}

CUresult end_call(Function function, CUresult result) {
  trace_call(function, result, note_of_call);
  note_of_call = nullptr;
  return result;
}

CUresult not_simulated(Function function) {
  CUresult result = begin_call(function, Needs::Init);
  if (result == CUDA_SUCCESS) result = CUDA_ERROR_NOT_SUPPORTED;
  trace_call(function, result, "not-simulated");
  return result;
}

}  // namespace vgsim
