#include "shim/streams.h"

#include <atomic>

namespace vramguard {

namespace {

constinit std::atomic<std::uint64_t> streams_ended{0};

// The default streams, legacy (0, 1) and of the thread (2), are those of the current context.
bool has_own_context(abi::CUstream stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream) > 2; }

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
  vg_thread_state& thread = thread_state();
  const std::uint64_t ended = streams_ended.load(std::memory_order_acquire);
  if (has_own_context(stream) && thread.stream == stream && thread.streams_ended == ended) {
    return guard.device(thread.stream_device);
  }
  abi::CUcontext context = nullptr;
  if (ask(form.context_of, stream, &context) != abi::CUDA_SUCCESS || context == nullptr) return nullptr;
  const std::optional<Context> known = guard.contexts().find(reinterpret_cast<ContextHandle>(context));
  const int device = known ? known->device : device_of_unknown(context);
  thread.stream = stream;
  thread.streams_ended = ended;
  thread.stream_device = device;
  return guard.device(device);
}

void streams_end() noexcept { streams_ended.fetch_add(1, std::memory_order_acq_rel); }

namespace entry {

namespace {

// What is captured there ends with it.
CUresult destroy(CUresult (*DriverFunctions::*function)(CUstream), CUstream stream) {
  streams_end();
  Guard* guard = vramguard::guard();
  const auto handle = reinterpret_cast<StreamHandle>(stream);
  const std::optional<Capture> captured = guard != nullptr ? guard->captures().take(handle, 0) : std::nullopt;
  const CUresult result = forward(function, stream);
  if (captured && result != CUDA_SUCCESS) guard->captures().put_back(*captured);
  return result;
}

}  // namespace

CUresult cuStreamDestroy(CUstream stream) { return destroy(&DriverFunctions::cuStreamDestroy, stream); }

CUresult cuStreamDestroy_v2(CUstream stream) { return destroy(&DriverFunctions::cuStreamDestroy_v2, stream); }

}  // namespace entry

}  // namespace vramguard
