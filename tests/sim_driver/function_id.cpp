#include "tests/sim_driver/function_id.h"

namespace vgsim {
namespace {

constexpr const char* kNames[] = {
#define VGSIM_FUNCTION(symbol, base, version, stream) #symbol,
#define VGSIM_NOT_SIMULATED(symbol, base, version, stream) #symbol,
#define VGSIM_NVML_FUNCTION(symbol) #symbol,
#include "tests/sim_driver/functions.inc"
#include "tests/sim_driver/nvml_functions.inc"
#undef VGSIM_NVML_FUNCTION
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION
};

}  // namespace

const char* function_name(Function function) { return kNames[static_cast<int>(function)]; }

int find_function(std::string_view name) {
  for (int i = 0; i < kFunctionCount; ++i) {
    if (name == kNames[i]) return i;
  }
  return -1;
}

}  // namespace vgsim
