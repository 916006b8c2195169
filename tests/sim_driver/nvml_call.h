// The way into every function of the simulated NVML, and what the functions share.
#pragma once

#include <string>

#include "tests/sim_driver/faults.h"
#include "tests/sim_driver/nvml_abi.h"
#include "tests/sim_driver/trace.h"

namespace vgsim {

enum class NvmlNeeds { Nothing, Init };

// Whether nvmlInit was called more often than nvmlShutdown.
bool is_nvml_initialised();

template <class Body>
nvmlReturn_t run_nvml(Function function, NvmlNeeds needs, Body&& body) {
  nvmlReturn_t result = NVML_ERROR_UNINITIALIZED;
  if (const int code = count_and_find_fault(function); code != 0)
    result = static_cast<nvmlReturn_t>(code);
  else if (needs == NvmlNeeds::Nothing || is_nvml_initialised())
    result = body();
  trace_call(function, result);
  return result;
}

// A handle is the physical index plus one; -1 for what is none.
int index_of(nvmlDevice_t device);

nvmlReturn_t put_text(const std::string& text, char* out, unsigned int length);

}  // namespace vgsim

// One exported function: VGSIM_NVML(symbol, Nothing or Init, (parameters), result).
#define VGSIM_NVML(symbol, needs, parameters, result)                                \
  extern "C" __attribute__((visibility("default"))) nvmlReturn_t symbol parameters { \
    return ::vgsim::run_nvml(::vgsim::Function::symbol, ::vgsim::NvmlNeeds::needs,   \
                             [&]() -> nvmlReturn_t { return result; });              \
  }
