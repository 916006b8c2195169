#include "shim/guarded_call.h"

namespace vramguard {

abi::CUresult refused(GuardedDevice& device, const Request& request, const OomAttempt& attempt) noexcept {
  const OomRequest told = on_this_thread(request, false);
  thread_state().refusal = {sizeof(vramguard_refusal),  device.info.ordinal,  static_cast<int>(attempt.scope()),
                            attempt.deferred() ? 1 : 0, request.bytes,        device.memory.short_of(told.worst),
                            device.memory.budget(),     device.memory.used(), device.memory.sentinel()};
  return abi::CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace vramguard
