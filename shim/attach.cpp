// Where the preloaded part meets the core: the table of wrappers that its entries jump to.
#include <array>

#include "shim/c_api.h"
#include "shim/driver.h"
#include "shim/nvml_entries.h"
#include "shim/process.h"
#include "shim/uncancelled.h"

namespace vramguard {

namespace {

// What an entry reaches: the wrapper, unless this thread is already inside a driver call of ours. Then another
// interposer, or the driver itself, has called back by name.
template <auto body, auto own>
struct Gate;

// A cancellation in the middle would take the books along. Stream-ordered memory has none: what a pool holds is read
// from the driver, and its calls are too short to spend 14 ns on this.
template <auto body>
constexpr bool kKeepsBooks = true;
template <>
constexpr bool kKeepsBooks<&entry::cuMemAllocAsync> = false;
template <>
constexpr bool kKeepsBooks<&entry::cuMemAllocAsync_ptsz> = false;
template <>
constexpr bool kKeepsBooks<&entry::cuMemAllocFromPoolAsync> = false;
template <>
constexpr bool kKeepsBooks<&entry::cuMemAllocFromPoolAsync_ptsz> = false;
template <>
constexpr bool kKeepsBooks<&entry::cuMemFreeAsync> = false;
template <>
constexpr bool kKeepsBooks<&entry::cuMemFreeAsync_ptsz> = false;

template <typename... Parameters, abi::CUresult (*body)(Parameters...),
          abi::CUresult (*DriverFunctions::*own)(Parameters...)>
struct Gate<body, own> {
  static abi::CUresult enter(Parameters... parameters) {
    if (thread_state().in_driver_call != 0) return pass(parameters...);
    if constexpr (!kKeepsBooks<body>) return body(parameters...);
    const Uncancelled uncancelled;
    return body(parameters...);
  }

 private:
  static abi::CUresult pass(Parameters... parameters) {
    const auto target = driver().own.*own;
    return target != nullptr ? target(parameters...) : missing();
  }
};

template <auto body, auto own>
struct NvmlGate;

template <typename... Parameters, abi::nvmlReturn_t (*body)(Parameters...),
          abi::nvmlReturn_t (*NvmlFunctions::*own)(Parameters...)>
struct NvmlGate<body, own> {
  static abi::nvmlReturn_t enter(Parameters... parameters) {
    const auto target = nvml_functions().*own;
    if (target == nullptr) return abi::NVML_ERROR_FUNCTION_NOT_FOUND;
    return thread_state().in_driver_call == 0 ? body(parameters...) : target(parameters...);
  }
};

const std::array kWrappers{
#define VG_DRIVER_FUNCTION(symbol, since, parameters) \
  reinterpret_cast<void*>(&Gate<&entry::symbol, &DriverFunctions::symbol>::enter),
#define VG_NVML_FUNCTION(symbol, since, parameters) \
  reinterpret_cast<void*>(&NvmlGate<&nvml_entry::symbol, &NvmlFunctions::symbol>::enter),
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
};

// Our static unwinder sets itself up at its first exception. It must not be a host's exception, or a thread's
// cancellation, that passes a frame of ours.
void prime_unwinder() noexcept {
  try {
    throw 1;
  } catch (...) {
  }
}

}  // namespace

}  // namespace vramguard

extern "C" __attribute__((visibility("default"))) const vg_core_api* vramguard_core_attach(
    const vg_preload_api* preload) {
  using namespace vramguard;
  static constinit const char build[] = VRAMGUARD_VERSION;
  static const vg_core_api api{build, static_cast<unsigned>(kWrappers.size()), kWrappers.data(), &c_api()};
  if (preload->function_count != kWrappers.size() || std::string_view(preload->build) != build) return nullptr;
  prime_unwinder();
  attach_preload(*preload);
  return attach_process() ? &api : nullptr;
}
