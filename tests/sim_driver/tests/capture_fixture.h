// Short ways to capture streams.
#pragma once

#include <functional>
#include <thread>

#include "tests/sim_driver/tests/graph_fixture.h"

struct Stream {
  CUstream handle = nullptr;
  explicit Stream(unsigned int flags = 0) { REQUIRE(cuStreamCreate(&handle, flags) == CUDA_SUCCESS); }
  operator CUstream() const { return handle; }
};

inline CUstreamCaptureStatus status_of(CUstream stream) {
  CUstreamCaptureStatus status{};
  REQUIRE(cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
  return status;
}

inline void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
  REQUIRE(cuStreamBeginCapture_v2(stream, mode) == CUDA_SUCCESS);
}

// The result of the end; a graph is destroyed.
inline CUresult end(CUstream stream) {
  CUgraph graph = nullptr;
  const CUresult result = cuStreamEndCapture(stream, &graph);
  CHECK((graph != nullptr) == (result == CUDA_SUCCESS));
  if (graph) CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
  return result;
}

inline CUresult on_another_thread(CUcontext context, const std::function<CUresult()>& call) {
  CUresult result = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    if (cuCtxSetCurrent(context) == CUDA_SUCCESS) result = call();
  }).join();
  return result;
}
