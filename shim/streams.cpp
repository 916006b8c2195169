#include "shim/streams.h"

namespace vramguard {

namespace {

// Where the context is not in the books yet, it is made current for the moment of the question.
int device_of_unknown(abi::CUcontext context) noexcept {
  abi::CUdevice device = -1;
  if (ask(&DriverQueries::cuCtxPushCurrent_v2, context) != abi::CUDA_SUCCESS) return -1;
  ask(&DriverQueries::cuCtxGetDevice, &device);
  ask(&DriverQueries::cuCtxPopCurrent_v2, &context);
  return device;
}

}  // namespace

bool is_capturing(const StreamForm& form, abi::CUstream stream) noexcept {
  auto status = abi::CU_STREAM_CAPTURE_STATUS_NONE;
  return ask(form.is_capturing, stream, &status) == abi::CUDA_SUCCESS && status != abi::CU_STREAM_CAPTURE_STATUS_NONE;
}

GuardedDevice* device_of_stream(Guard& guard, const StreamForm& form, abi::CUstream stream) noexcept {
  if (guard.device_count() == 1) return guard.device(0);
  abi::CUcontext context = nullptr;
  if (ask(form.context_of, stream, &context) != abi::CUDA_SUCCESS || context == nullptr) return nullptr;
  const std::optional<Context> known = guard.contexts().find(reinterpret_cast<ContextHandle>(context));
  return guard.device(known ? known->device : device_of_unknown(context));
}

}  // namespace vramguard
