#include <chrono>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/synchronisation.h"

namespace vgsim {
namespace {

constexpr unsigned int kDisableTiming = 2;
constexpr unsigned int kAllFlags = 7;
constexpr unsigned int kRecordExternal = 1;  // CU_EVENT_RECORD_EXTERNAL

CUresult create(CUevent* out, unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out || flags > kAllFlags) return CUDA_ERROR_INVALID_VALUE;
  *out = handles().events.add<CUevent>(Event{context, flags, false, 0, nullptr});
  return CUDA_SUCCESS;
}

CUresult destroy(CUevent event) { return handles().events.remove(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

CUresult record(CUevent handle, CUstream stream, unsigned int flags = 0) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  Event* event = handles().events.find(handle);
  if (!event || event->context != context) return CUDA_ERROR_INVALID_HANDLE;
  if ((flags & kRecordExternal) != 0) {
    if (const auto captured = capture_work(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, nullptr)) return *captured;
  }
  if (const auto captured = capture_record(stream, event->captured)) return *captured;
  event->recorded = true;
  event->recorded_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  return CUDA_SUCCESS;
}

CUresult done(CUevent handle) {
  const Event* event = handles().events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  return event->captured ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult wait_for(CUevent event) {
  const CUresult result = done(event);
  if (result == CUDA_SUCCESS) synchronise();
  return result;
}

CUresult elapsed(float* out, CUevent start_handle, CUevent end_handle) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  const Event* start = handles().events.find(start_handle);
  const Event* end = handles().events.find(end_handle);
  if (!start || !end || !start->recorded || !end->recorded) return CUDA_ERROR_INVALID_HANDLE;
  if (((start->flags | end->flags) & kDisableTiming) != 0) return CUDA_ERROR_INVALID_HANDLE;
  *out = static_cast<float>(end->recorded_ns - start->recorded_ns) / 1e6F;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuEventCreate, (CUevent * out, unsigned int flags), create(out, flags))
VGSIM_API(cuEventDestroy, (CUevent event), destroy(event))
VGSIM_API(cuEventDestroy_v2, (CUevent event), destroy(event))
VGSIM_API(cuEventRecord, (CUevent event, CUstream stream), record(event, stream))
VGSIM_API(cuEventRecord_ptsz, (CUevent event, CUstream stream), record(event, per_thread(stream)))
VGSIM_API(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags), record(event, stream, flags))
VGSIM_API(cuEventRecordWithFlags_ptsz, (CUevent event, CUstream stream, unsigned int flags),
          record(event, per_thread(stream), flags))
VGSIM_API(cuEventQuery, (CUevent event), done(event))
VGSIM_API(cuEventSynchronize, (CUevent event), wait_for(event))
VGSIM_API(cuEventElapsedTime, (float* out, CUevent start, CUevent end), elapsed(out, start, end))
VGSIM_API(cuEventElapsedTime_v2, (float* out, CUevent start, CUevent end), elapsed(out, start, end))
