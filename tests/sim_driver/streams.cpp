#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/synchronisation.h"

namespace vgsim {
namespace {

CUresult create(CUstream* out, unsigned int flags, int priority) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out || flags > kStreamNonBlocking) return CUDA_ERROR_INVALID_VALUE;
  *out = handles().streams.add<CUstream>(Stream{context, flags, priority, driver().next_id++, nullptr});
  return CUDA_SUCCESS;
}

CUresult destroy(CUstream stream) {
  return handles().streams.remove(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// All work is done when the call that asked for it returns, so there is nothing to wait for.
CUresult done(CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  return refuse_capture(stream).value_or(CUDA_SUCCESS);
}

CUresult wait_for(CUstream stream) {
  const CUresult result = done(stream);
  if (result == CUDA_SUCCESS) synchronise();
  return result;
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

constexpr unsigned int kWaitExternal = 1;  // CU_EVENT_WAIT_EXTERNAL

CUresult wait_event(CUstream stream, CUevent handle, unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  const Event* event = handles().events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if ((flags & kWaitExternal) != 0)
    return capture_work(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, nullptr).value_or(CUDA_SUCCESS);
  return capture_wait(stream, event->captured).value_or(CUDA_SUCCESS);
}

// Empty: the function is to be called now.
std::optional<CUresult> capture_host_function(CUstream stream, CUhostFn function, void* data) {
  const DriverLock lock(true);
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  if (captures_going_on == 0) return std::nullopt;
  CaptureSeat* seat = captured_seat(stream);
  if (!seat) return legacy_refusal(stream);
  NodeContent content;
  content.host = function;
  content.host_data = data;
  return add_captured_node(*seat, CU_GRAPH_NODE_TYPE_HOST, std::move(content));
}

// Runs in the calling thread, where the real driver has one of its own.
CUresult call_host_function(CUstream stream, CUhostFn function, void* data) {
  if (const auto captured = capture_host_function(stream, function, data)) return *captured;
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

VGSIM_API(cuStreamSynchronize, (CUstream stream), wait_for(stream))
VGSIM_API(cuStreamSynchronize_ptsz, (CUstream stream), wait_for(per_thread(stream)))
VGSIM_API(cuStreamQuery, (CUstream stream), done(stream))
VGSIM_API(cuStreamQuery_ptsz, (CUstream stream), done(per_thread(stream)))
VGSIM_API(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags), wait_event(stream, event, flags))
VGSIM_API(cuStreamWaitEvent_ptsz, (CUstream stream, CUevent event, unsigned int flags),
          wait_event(per_thread(stream), event, flags))
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

VGSIM_API_UNLOCKED(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data),
                   call_host_function(stream, function, data))
VGSIM_API_UNLOCKED(cuLaunchHostFunc_ptsz, (CUstream stream, CUhostFn function, void* data),
                   call_host_function(per_thread(stream), function, data))
VGSIM_API_UNLOCKED(cuStreamAddCallback, (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags),
                   call_callback(stream, callback, data, flags))
VGSIM_API_UNLOCKED(cuStreamAddCallback_ptsz,
                   (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags),
                   call_callback(per_thread(stream), callback, data, flags))
