#include "tests/sim_driver/handles.h"

#include "tests/sim_driver/capture.h"

namespace vgsim {
namespace {

// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are the numbers 1 and 2.
bool is_default_stream(CUstream stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

}  // namespace

Handles& handles() {
  static auto* const all = new Handles;
  return *all;
}

void end_handles_of(Context& context) {
  Handles& all = handles();
  const auto of_context = [&](const auto& object) { return object.context == &context; };
  all.kernels.remove_if([&](const Kernel& kernel) { return kernel.module->context == &context; });
  all.modules.remove_if(of_context);
  all.events.remove_if(of_context);
  all.streams.remove_if(of_context);
  leave_captures_in(context);
}

CUresult stream_context(CUstream stream, Context*& context) {
  if (is_default_stream(stream)) return current_context(context);
  const Stream* found = handles().streams.find(stream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  context = found->context;
  return CUDA_SUCCESS;
}

}  // namespace vgsim
