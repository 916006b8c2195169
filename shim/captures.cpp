// Captures are only noticed: from the first one on, stream-ordered allocations look whether they become part of a
// graph, and a thread that captures is never kept waiting.
#include "shim/streams.h"

namespace vramguard::entry {

namespace {

struct CapturedStream {
  StreamHandle handle;
  ContextId context;
};

CapturedStream identify(Guard& guard, const StreamForm& form, CUstream stream) {
  const auto handle = reinterpret_cast<StreamHandle>(stream);
  CUcontext context = nullptr;
  ask(form.context_of, stream, &context);
  const std::optional<Context> known = guard.contexts().find(reinterpret_cast<ContextHandle>(context));
  const bool own_default = handle == 0 && &form == &kPerThreadStreams;
  return {own_default ? kPerThreadStream : handle, known ? known->id : 0};
}

// Noted before the call: once it is back, another thread may allocate on the stream. The mode does not matter: it says
// what ruins a capture, and a relaxed one is its thread's, too.
template <typename Call>
CUresult begin(const StreamForm& form, CUstream stream, Call&& call) {
  Guard* guard = vramguard::guard();
  if (guard != nullptr) guard->capture_begins();
  const CUresult result = call();
  if (result != CUDA_SUCCESS || guard == nullptr) return result;
  const CapturedStream captured = identify(*guard, form, stream);
  if (!guard->captures().add(captured.handle, captured.context)) {
    guard->guard_failed("captures", "no memory to note a capture; its thread may be kept waiting");
  }
  return result;
}

// A capture that was ruined has ended, too; one that was not this stream's or thread's to end goes on.
CUresult end(CUresult (*DriverFunctions::*function)(CUstream, CUgraph*), const StreamForm& form, CUstream stream,
             CUgraph* graph) {
  Guard* guard = vramguard::guard();
  std::optional<Capture> captured;
  if (guard != nullptr) {
    const CapturedStream ending = identify(*guard, form, stream);
    captured = guard->captures().take(ending.handle, ending.context);
  }
  const CUresult result = forward(function, stream, graph);
  if (captured && result != CUDA_SUCCESS && is_capturing(form, stream)) guard->captures().put_back(*captured);
  return result;
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream stream) {
  return begin(kLegacyStreams, stream, [=] { return forward(&DriverFunctions::cuStreamBeginCapture, stream); });
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  return begin(kPerThreadStreams, stream, [=] { return forward(&DriverFunctions::cuStreamBeginCapture_ptsz, stream); });
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin(kLegacyStreams, stream,
               [=] { return forward(&DriverFunctions::cuStreamBeginCapture_v2, stream, mode); });
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return begin(kPerThreadStreams, stream,
               [=] { return forward(&DriverFunctions::cuStreamBeginCapture_v2_ptsz, stream, mode); });
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return begin(kLegacyStreams, stream, [=] {
    return forward(&DriverFunctions::cuStreamBeginCaptureToGraph, stream, graph, dependencies, edges, count, mode);
  });
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return begin(kPerThreadStreams, stream, [=] {
    return forward(&DriverFunctions::cuStreamBeginCaptureToGraph_ptsz, stream, graph, dependencies, edges, count, mode);
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return end(&DriverFunctions::cuStreamEndCapture, kLegacyStreams, stream, graph);
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return end(&DriverFunctions::cuStreamEndCapture_ptsz, kPerThreadStreams, stream, graph);
}

}  // namespace vramguard::entry
