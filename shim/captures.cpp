// Captures are only noticed: from the first one on, stream-ordered allocations look whether they become part of a
// graph.
#include "shim/driver.h"
#include "shim/process.h"

namespace vramguard::entry {

namespace {

// Before the call: once it is back, another thread may allocate on the stream.
void note_capture() {
  Guard* guard = vramguard::guard();
  if (guard != nullptr) guard->capture_begins();
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream stream) {
  note_capture();
  return forward(&DriverFunctions::cuStreamBeginCapture, stream);
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  note_capture();
  return forward(&DriverFunctions::cuStreamBeginCapture_ptsz, stream);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  note_capture();
  return forward(&DriverFunctions::cuStreamBeginCapture_v2, stream, mode);
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  note_capture();
  return forward(&DriverFunctions::cuStreamBeginCapture_v2_ptsz, stream, mode);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  note_capture();
  return forward(&DriverFunctions::cuStreamBeginCaptureToGraph, stream, graph, dependencies, edges, count, mode);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  note_capture();
  return forward(&DriverFunctions::cuStreamBeginCaptureToGraph_ptsz, stream, graph, dependencies, edges, count, mode);
}

}  // namespace vramguard::entry
