#include "tests/sim_driver/call.h"

// Their arguments are not looked at; the calling conventions of x86-64 and aarch64 leave them to the caller.
#define VGSIM_FUNCTION(symbol, base, version, stream)
#define VGSIM_NOT_SIMULATED(symbol, base, version, stream)              \
  extern "C" __attribute__((visibility("default"))) CUresult symbol() { \
    return vgsim::not_simulated(vgsim::Function::symbol);               \
  }
#include "tests/sim_driver/functions.inc"
