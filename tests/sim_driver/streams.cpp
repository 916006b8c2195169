#include "tests/sim_driver/call.h"
#include "tests/sim_driver/handles.h"

namespace vgsim {
namespace {

CUresult create(CUstream* out, unsigned int flags, int priority) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  *out = handles().streams.add<CUstream>(Stream{context, flags, priority, driver().next_id++});
  return CUDA_SUCCESS;
}

CUresult destroy(CUstream stream) {
  return handles().streams.remove(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// All work is done when the call that asked for it returns, so there is nothing to wait for.
CUresult done(CUstream stream) {
  Context* context = nullptr;
  return stream_context(stream, context);
}

// Writes get(stream, context); the default streams have no Stream.
template <class Value, class Get>
CUresult query(CUstream stream, Value* out, Get get) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = get(handles().streams.find(stream), context);
  return CUDA_SUCCESS;
}

CUresult get_context(CUstream stream, CUcontext* out) {
  return query(stream, out, [](const Stream*, Context* context) { return handle_of(context); });
}

CUresult get_flags(CUstream stream, unsigned int* out) {
  return query(stream, out, [](const Stream* found, Context*) { return found ? found->flags : 0U; });
}

CUresult get_priority(CUstream stream, int* out) {
  return query(stream, out, [](const Stream* found, Context*) { return found ? found->priority : 0; });
}

CUresult get_id(CUstream stream, unsigned long long* out) {
  return query(stream, out, [](const Stream* found, Context* context) -> unsigned long long {
    return found ? found->id : context->id;
  });
}

CUresult get_device(CUstream stream, CUdevice* out) {
  return query(stream, out, [](const Stream*, Context* context) { return context->device->ordinal; });
}

CUresult is_capturing(CUstream stream, CUstreamCaptureStatus* out) {
  return query(stream, out, [](const Stream*, Context*) { return CU_STREAM_CAPTURE_STATUS_NONE; });
}

CUresult wait_event(CUstream stream, CUevent event) {
  if (const CUresult result = done(stream); result != CUDA_SUCCESS) return result;
  return handles().events.find(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult exchange_capture_mode(CUstreamCaptureMode* mode) {
  static thread_local CUstreamCaptureMode of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;
  if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, of_thread);
  return CUDA_SUCCESS;
}

// Runs in the calling thread, where the real driver has one of its own.
CUresult call_host_function(CUstream stream, CUhostFn function, void* data) {
  {
    const DriverLock lock(true);
    if (const CUresult result = done(stream); result != CUDA_SUCCESS) return result;
  }
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  function(data);
  return CUDA_SUCCESS;
}

CUresult call_callback(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  {
    const DriverLock lock(true);
    if (const CUresult result = done(stream); result != CUDA_SUCCESS) return result;
  }
  if (!callback || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  callback(stream, CUDA_SUCCESS, data);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuStreamCreate, (CUstream * out, unsigned int flags), create(out, flags, 0))
VGSIM_API(cuStreamCreateWithPriority, (CUstream * out, unsigned int flags, int priority), create(out, flags, priority))
VGSIM_API(cuStreamDestroy, (CUstream stream), destroy(stream))
VGSIM_API(cuStreamDestroy_v2, (CUstream stream), destroy(stream))
VGSIM_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), exchange_capture_mode(mode))

VGSIM_API(cuStreamSynchronize, (CUstream stream), done(stream))
VGSIM_API(cuStreamSynchronize_ptsz, (CUstream stream), done(stream))
VGSIM_API(cuStreamQuery, (CUstream stream), done(stream))
VGSIM_API(cuStreamQuery_ptsz, (CUstream stream), done(stream))
VGSIM_API(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int), wait_event(stream, event))
VGSIM_API(cuStreamWaitEvent_ptsz, (CUstream stream, CUevent event, unsigned int), wait_event(stream, event))
VGSIM_API(cuStreamGetCtx, (CUstream stream, CUcontext* out), get_context(stream, out))
VGSIM_API(cuStreamGetCtx_ptsz, (CUstream stream, CUcontext* out), get_context(stream, out))
VGSIM_API(cuStreamGetFlags, (CUstream stream, unsigned int* out), get_flags(stream, out))
VGSIM_API(cuStreamGetFlags_ptsz, (CUstream stream, unsigned int* out), get_flags(stream, out))
VGSIM_API(cuStreamGetPriority, (CUstream stream, int* out), get_priority(stream, out))
VGSIM_API(cuStreamGetPriority_ptsz, (CUstream stream, int* out), get_priority(stream, out))
VGSIM_API(cuStreamGetId, (CUstream stream, unsigned long long* out), get_id(stream, out))
VGSIM_API(cuStreamGetId_ptsz, (CUstream stream, unsigned long long* out), get_id(stream, out))
VGSIM_API(cuStreamGetDevice, (CUstream stream, CUdevice* out), get_device(stream, out))
VGSIM_API(cuStreamGetDevice_ptsz, (CUstream stream, CUdevice* out), get_device(stream, out))
VGSIM_API(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* out), is_capturing(stream, out))
VGSIM_API(cuStreamIsCapturing_ptsz, (CUstream stream, CUstreamCaptureStatus* out), is_capturing(stream, out))

VGSIM_API_UNLOCKED(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data),
                   call_host_function(stream, function, data))
VGSIM_API_UNLOCKED(cuLaunchHostFunc_ptsz, (CUstream stream, CUhostFn function, void* data),
                   call_host_function(stream, function, data))
VGSIM_API_UNLOCKED(cuStreamAddCallback, (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags),
                   call_callback(stream, callback, data, flags))
VGSIM_API_UNLOCKED(cuStreamAddCallback_ptsz,
                   (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags),
                   call_callback(stream, callback, data, flags))
