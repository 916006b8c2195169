// The driver, as function pointers. Nothing else in the shim calls it: a call by name would come back to us.
#pragma once

#include <atomic>

#include "shim/entry.h"
#include "shim/preload/contract.h"

namespace vramguard {

struct DriverFunctions {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) decltype(&entry::symbol) symbol = nullptr;
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
};

// The rows use the driver's own type names.
namespace queries {
using namespace abi;
#define VG_DRIVER_QUERY(symbol, parameters) using symbol = CUresult(*) parameters;
#include "shim/driver_queries.inc"
#undef VG_DRIVER_QUERY
}  // namespace queries

struct DriverQueries {
#define VG_DRIVER_QUERY(symbol, parameters) queries::symbol symbol = nullptr;
#include "shim/driver_queries.inc"
#undef VG_DRIVER_QUERY
};

// Immutable once published, so thread-safe.
struct Driver {
  DriverFunctions chain;  // what the program would reach without us: another interposer's functions, or the driver's
  DriverFunctions own;    // the driver's, past every interposer
  DriverQueries query;    // the driver's
};

inline constinit std::atomic<const vg_preload_api*> attached_preload{nullptr};
inline constinit std::atomic<const Driver*> attached_driver{nullptr};

// Called by vramguard_core_attach, from any number of threads; every other function here needs it.
inline void attach_preload(const vg_preload_api& api) noexcept {
  attached_preload.store(&api, std::memory_order_release);
}
inline const vg_preload_api& preload() noexcept { return *attached_preload.load(std::memory_order_acquire); }

const Driver& look_up_driver() noexcept;
// Looked up at the first call: a program may come by NVML alone, and to CUDA later. Empty while no driver is loaded.
inline const Driver& driver() noexcept {
  const Driver* attached = attached_driver.load(std::memory_order_acquire);
  return attached != nullptr ? *attached : look_up_driver();
}

inline vg_thread_state& thread_state() noexcept {
  return *reinterpret_cast<vg_thread_state*>(static_cast<char*>(__builtin_thread_pointer()) +
                                             preload().thread_state_offset);
}

// Marks this thread as being inside a driver call of ours, so that what comes back through our entries passes
// uncounted. Saves and restores: a marked call can be inside another.
class DriverCall {
 public:
  DriverCall() noexcept : state_(thread_state()), before_(state_.in_driver_call) { state_.in_driver_call = 1; }
  ~DriverCall() { state_.in_driver_call = before_; }
  DriverCall(const DriverCall&) = delete;

 private:
  vg_thread_state& state_;
  int before_;
};

// What a program gets for a function that is not there: no driver at all, or one that is older than it was linked for.
inline abi::CUresult missing() noexcept {
  return driver().own.cuInit == nullptr ? abi::CUDA_ERROR_NOT_INITIALIZED : abi::CUDA_ERROR_NOT_FOUND;
}

// Calls the function that the program meant.
template <typename... Parameters, typename... Arguments>
[[gnu::always_inline]] inline abi::CUresult forward(abi::CUresult (*DriverFunctions::*function)(Parameters...),
                                                    Arguments... arguments) {
  const auto target = driver().chain.*function;
  if (target == nullptr) return missing();
  const DriverCall mark;
  return target(arguments...);
}

// Calls a wrapped function for ourselves: the driver's own, past every interposer.
template <typename... Parameters, typename... Arguments>
abi::CUresult call_own(abi::CUresult (*DriverFunctions::*function)(Parameters...), Arguments... arguments) {
  const auto target = driver().own.*function;
  if (target == nullptr) return missing();
  const DriverCall mark;
  return target(arguments...);
}

// Asks the driver something for ourselves.
template <typename... Parameters, typename... Arguments>
[[gnu::always_inline]] inline abi::CUresult ask(abi::CUresult (*DriverQueries::*function)(Parameters...),
                                                Arguments... arguments) {
  const auto target = driver().query.*function;
  if (target == nullptr) return abi::CUDA_ERROR_NOT_FOUND;
  const DriverCall mark;
  return target(arguments...);
}

}  // namespace vramguard
