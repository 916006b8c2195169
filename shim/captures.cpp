// Captures are only noticed: from the first one on, stream-ordered allocations look whether they become part of a
// graph, and a thread that captures is never kept waiting.
#include "shim/driver.h"
#include "shim/process.h"

namespace vramguard::entry {

namespace {

// Noted before the call: once it is back, another thread may allocate on the stream.
template <typename Call>
CUresult begin(Call&& call) {
  if (Guard* guard = vramguard::guard()) guard->capture_begins();
  const CUresult result = call();
  if (result == CUDA_SUCCESS) ++thread_state().captures;
  return result;
}

// Of whatever outcome: a capture that was ruined has ended, too.
template <typename Call>
CUresult end(Call&& call) {
  const CUresult result = call();
  int& captures = thread_state().captures;
  if (captures > 0) --captures;
  return result;
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream stream) {
  return begin([=] { return forward(&DriverFunctions::cuStreamBeginCapture, stream); });
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  return begin([=] { return forward(&DriverFunctions::cuStreamBeginCapture_ptsz, stream); });
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin([=] { return forward(&DriverFunctions::cuStreamBeginCapture_v2, stream, mode); });
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return begin([=] { return forward(&DriverFunctions::cuStreamBeginCapture_v2_ptsz, stream, mode); });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return end([=] { return forward(&DriverFunctions::cuStreamEndCapture, stream, graph); });
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return end([=] { return forward(&DriverFunctions::cuStreamEndCapture_ptsz, stream, graph); });
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return begin([=] {
    return forward(&DriverFunctions::cuStreamBeginCaptureToGraph, stream, graph, dependencies, edges, count, mode);
  });
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return begin([=] {
    return forward(&DriverFunctions::cuStreamBeginCaptureToGraph_ptsz, stream, graph, dependencies, edges, count, mode);
  });
}

}  // namespace vramguard::entry
