// Where the preloaded part meets the core: the table of wrappers that its entries jump to.
#include <pthread.h>

#include <array>

#include "shim/driver.h"
#include "shim/process.h"
#include "shim/replacements.h"

namespace vramguard {

namespace {

// What an entry reaches: the wrapper, unless this thread is already inside a driver call of ours. Then another
// interposer, or the driver itself, has called back by name.
template <auto body, auto own>
struct Gate;

template <typename... Parameters, abi::CUresult (*body)(Parameters...),
          abi::CUresult (*DriverFunctions::*own)(Parameters...)>
struct Gate<body, own> {
  static abi::CUresult enter(Parameters... parameters) {
    if (preload().thread_state()->in_driver_call == 0) return uncancelled(parameters...);
    const auto target = driver().own.*own;
    return target != nullptr ? target(parameters...) : abi::CUDA_ERROR_NOT_FOUND;
  }

 private:
  // A cancellation in the middle would take the books along. It waits for the thread's next cancellation point.
  static abi::CUresult uncancelled(Parameters... parameters) {
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    const abi::CUresult result = body(parameters...);
    pthread_setcancelstate(state, nullptr);
    return result;
  }
};

const std::array kWrappers{
#define VG_DRIVER_FUNCTION(symbol, since, parameters) \
  reinterpret_cast<void*>(&Gate<&entry::symbol, &DriverFunctions::symbol>::enter),
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
  static const vg_core_api api{build, static_cast<unsigned>(kWrappers.size()), kWrappers.data()};
  if (preload->function_count != kWrappers.size() || std::string_view(preload->build) != build) return nullptr;
  prime_unwinder();
  return attach_driver(*preload) && attach_replacements(*preload) && attach_process() ? &api : nullptr;
}
