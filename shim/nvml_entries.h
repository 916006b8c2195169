// The wrapped functions of NVML, declared from the table, and what lies behind them.
#pragma once

#include "shim/driver_abi.h"

namespace vramguard {

namespace nvml_entry {

using namespace vramguard::abi;

#define VG_DRIVER_FUNCTION(symbol, since, parameters)
#define VG_NVML_FUNCTION(symbol, since, parameters) nvmlReturn_t symbol parameters;
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION

}  // namespace nvml_entry

struct NvmlFunctions {
#define VG_DRIVER_FUNCTION(symbol, since, parameters)
#define VG_NVML_FUNCTION(symbol, since, parameters) decltype(&nvml_entry::symbol) symbol = nullptr;
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
  abi::nvmlReturn_t (*nvmlDeviceGetUUID)(abi::nvmlDevice_t, char*, unsigned int) = nullptr;
  abi::nvmlReturn_t (*nvmlDeviceGetName)(abi::nvmlDevice_t, char*, unsigned int) = nullptr;
  abi::nvmlReturn_t (*nvmlDeviceGetPciInfo_v3)(abi::nvmlDevice_t, abi::nvmlPciInfo_t*) = nullptr;
  abi::nvmlReturn_t (*nvmlDeviceGetCount_v2)(unsigned int*) = nullptr;
  abi::nvmlReturn_t (*nvmlDeviceGetHandleByIndex_v2)(unsigned int, abi::nvmlDevice_t*) = nullptr;
};

// What the program would reach without us. Looked up at the first call; thread-safe.
const NvmlFunctions& nvml_functions() noexcept;

}  // namespace vramguard
