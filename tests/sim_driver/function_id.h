// A number for every function of the driver and of NVML, the same in all builds and processes.
#pragma once

#include <string_view>

namespace vgsim {

enum class Function : int {
#define VGSIM_FUNCTION(symbol, base, version, stream) symbol,
#define VGSIM_NOT_SIMULATED(symbol, base, version, stream) symbol,
#define VGSIM_NVML_FUNCTION(symbol) symbol,
#include "tests/sim_driver/functions.inc"
#include "tests/sim_driver/nvml_functions.inc"
#undef VGSIM_NVML_FUNCTION
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION
  kCount
};

inline constexpr int kFunctionCount = static_cast<int>(Function::kCount);

const char* function_name(Function function);

// The number of an exported name; -1 when there is none.
int find_function(std::string_view name);

}  // namespace vgsim
