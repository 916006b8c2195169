// The way into every simulated function: counts, faults, the check for cuInit, the driver's lock, the trace.
#pragma once

#include <new>

#include "tests/sim_driver/api.h"
#include "tests/sim_driver/capture_rules.h"
#include "tests/sim_driver/driver.h"
#include "tests/sim_driver/function_id.h"

namespace vgsim {

enum class Needs { Nothing, Init };

// What the call must return at once, or CUDA_SUCCESS to go on.
CUresult begin_call(Function function, Needs needs);

// Adds a word of static storage to the trace of the call that this thread is in.
void note_call(const char* note);

// Traces the call.
CUresult end_call(Function function, CUresult result);

// For a function that cuda.h has and the simulator has not.
CUresult not_simulated(Function function);

template <class Body>
CUresult run_call(Function function, Needs needs, bool locked, Body&& body) {
  CUresult result = begin_call(function, needs);
  if (result == CUDA_SUCCESS) {
    try {
      const DriverLock lock(locked);
      if (locked) result = forbidden_while_capturing(function);
      if (result == CUDA_SUCCESS) result = body();
    } catch (const std::bad_alloc&) {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  return end_call(function, result);
}

}  // namespace vgsim

#define VGSIM_EXPORT extern "C" __attribute__((visibility("default")))

// One exported function: VGSIM_API(symbol, (parameters), result). The expression runs with the driver locked.
#define VGSIM_API(symbol, parameters, result)                                       \
  VGSIM_EXPORT CUresult symbol parameters {                                         \
    return ::vgsim::run_call(::vgsim::Function::symbol, ::vgsim::Needs::Init, true, \
                             [&]() -> CUresult { return result; });                 \
  }

// The same without the lock: for what calls back into the program.
#define VGSIM_API_UNLOCKED(symbol, parameters, result)                               \
  VGSIM_EXPORT CUresult symbol parameters {                                          \
    return ::vgsim::run_call(::vgsim::Function::symbol, ::vgsim::Needs::Init, false, \
                             [&]() -> CUresult { return result; });                  \
  }

// The same for what works before cuInit.
#define VGSIM_API_ALWAYS(symbol, parameters, result)                                    \
  VGSIM_EXPORT CUresult symbol parameters {                                             \
    return ::vgsim::run_call(::vgsim::Function::symbol, ::vgsim::Needs::Nothing, false, \
                             [&]() -> CUresult { return result; });                     \
  }
