#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"

namespace vgsim {
namespace {

CUresult begin(CUstream stream, CUstreamCaptureMode mode) { return begin_capture(stream, mode, nullptr, {}); }

CUresult begin_to_graph(CUstream stream, CUgraph handle, const CUgraphNode* dependencies, std::size_t count,
                        CUstreamCaptureMode mode) {
  std::shared_ptr<Graph> graph = owned_graph(handle);
  std::vector<GraphNode*> nodes;
  if (!graph || !nodes_of(*graph, dependencies, count, nodes)) return CUDA_ERROR_INVALID_VALUE;
  return begin_capture(stream, mode, std::move(graph), std::move(nodes));
}

// The legacy stream can only be asked while no stream that it would wait for is captured; asking ruins nothing.
CUresult status_of(CUstream stream, CUstreamCaptureStatus* out, CaptureSeat*& seat) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = CU_STREAM_CAPTURE_STATUS_NONE;
  seat = captured_seat(stream);
  if (!seat) return legacy_would_wait(stream) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
  *out = seat->capture->ruined ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult is_capturing(CUstream stream, CUstreamCaptureStatus* out) {
  CaptureSeat* seat = nullptr;
  return status_of(stream, out, seat);
}

CUresult info(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph = nullptr,
              const CUgraphNode** dependencies = nullptr, std::size_t* count = nullptr,
              const CUgraphEdgeData** edges = nullptr) {
  CaptureSeat* seat = nullptr;
  if (const CUresult result = status_of(stream, status, seat); result != CUDA_SUCCESS) return result;
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  if (id) *id = seat->capture->id;
  if (graph) *graph = seat->capture->graph->handle();
  if (dependencies) *dependencies = reinterpret_cast<const CUgraphNode*>(seat->dependencies.data());
  if (edges) *edges = nullptr;  // all are plain ones
  if (count) *count = seat->dependencies.size();
  return CUDA_SUCCESS;
}

CUresult exchange_mode(CUstreamCaptureMode* mode) {
  if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = exchange_thread_mode(*mode);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuStreamBeginCapture, (CUstream stream), begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL))
VGSIM_API(cuStreamBeginCapture_ptsz, (CUstream stream), begin(per_thread(stream), CU_STREAM_CAPTURE_MODE_GLOBAL))
VGSIM_API(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), begin(stream, mode))
VGSIM_API(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode), begin(per_thread(stream), mode))
VGSIM_API(cuStreamBeginCaptureToGraph,
          (CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData*, std::size_t count,
           CUstreamCaptureMode mode),
          begin_to_graph(stream, graph, dependencies, count, mode))
VGSIM_API(cuStreamBeginCaptureToGraph_ptsz,
          (CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData*, std::size_t count,
           CUstreamCaptureMode mode),
          begin_to_graph(per_thread(stream), graph, dependencies, count, mode))
VGSIM_API(cuStreamEndCapture, (CUstream stream, CUgraph* out), end_capture(stream, out))
VGSIM_API(cuStreamEndCapture_ptsz, (CUstream stream, CUgraph* out), end_capture(per_thread(stream), out))
VGSIM_API(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* out), is_capturing(stream, out))
VGSIM_API(cuStreamIsCapturing_ptsz, (CUstream stream, CUstreamCaptureStatus* out),
          is_capturing(per_thread(stream), out))
VGSIM_API(cuStreamGetCaptureInfo, (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id),
          info(stream, status, id))
VGSIM_API(cuStreamGetCaptureInfo_ptsz, (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id),
          info(per_thread(stream), status, id))
VGSIM_API(cuStreamGetCaptureInfo_v2,
          (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
           const CUgraphNode** dependencies, std::size_t* count),
          info(stream, status, id, graph, dependencies, count))
VGSIM_API(cuStreamGetCaptureInfo_v2_ptsz,
          (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
           const CUgraphNode** dependencies, std::size_t* count),
          info(per_thread(stream), status, id, graph, dependencies, count))
VGSIM_API(cuStreamGetCaptureInfo_v3,
          (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
           const CUgraphNode** dependencies, const CUgraphEdgeData** edges, std::size_t* count),
          info(stream, status, id, graph, dependencies, count, edges))
VGSIM_API(cuStreamGetCaptureInfo_v3_ptsz,
          (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
           const CUgraphNode** dependencies, const CUgraphEdgeData** edges, std::size_t* count),
          info(per_thread(stream), status, id, graph, dependencies, count, edges))
VGSIM_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), exchange_mode(mode))
