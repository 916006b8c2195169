// How a capture begins and ends, on which streams, and what it tells meanwhile.
#include <catch2/catch.hpp>

#include "tests/sim_driver/tests/capture_fixture.h"

TEST_CASE("streams join a capture by events and must come back to its first") {
  const InContext here;
  const CUdeviceptr live = here.alloc(8);
  const Stream first, second;
  CUevent fork = nullptr, join = nullptr;
  REQUIRE(cuEventCreate(&fork, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&join, 0) == CUDA_SUCCESS);
  const bool joined = GENERATE(true, false);
  begin(first);
  CHECK(cuMemsetD8Async(live, 1, 8, first) == CUDA_SUCCESS);
  CHECK(cuEventRecord(fork, first) == CUDA_SUCCESS);
  CHECK(cuStreamWaitEvent(second, fork, 0) == CUDA_SUCCESS);
  CHECK(status_of(second) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(cuMemsetD8Async(live, 2, 4, second) == CUDA_SUCCESS);
  CHECK(cuMemsetD8Async(live + 4, 3, 4, first) == CUDA_SUCCESS);
  CHECK(cuEventRecord(join, second) == CUDA_SUCCESS);
  if (joined) CHECK(cuStreamWaitEvent(first, join, 0) == CUDA_SUCCESS);
  CHECK(cuMemsetD8Async(live, 4, 1, first) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(first, &graph) == (joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED));
  CHECK(status_of(second) == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK((graph != nullptr) == joined);
  if (joined) {
    CHECK(types_of(graph).size() == 4);
    CHECK(edges_of(graph) == 4);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
  }
  // The event still stands for what was captured.
  CHECK(cuEventQuery(fork) == CUDA_ERROR_CAPTURED_EVENT);
  CHECK(cuStreamWaitEvent(second, fork, 0) == CUDA_ERROR_CAPTURED_EVENT);
  CHECK(cuEventRecord(fork, second) == CUDA_SUCCESS);
  CHECK(cuEventQuery(fork) == CUDA_SUCCESS);
}

TEST_CASE("captures are not joined to each other or to work outside") {
  const InContext here;
  const Stream first, second;
  CUevent event = nullptr, outside = nullptr;
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&outside, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(outside, second) == CUDA_SUCCESS);
  begin(first);
  CHECK(cuStreamWaitEvent(first, outside, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CHECK(end(first) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(first);
  begin(second);
  CHECK(cuEventRecord(event, first) == CUDA_SUCCESS);
  CHECK(cuStreamWaitEvent(second, event, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
  CHECK(end(first) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(end(second) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("a capture is ended on its stream, by its thread, once") {
  const InContext here;
  const Stream stream, member;
  CUgraph graph = nullptr;
  CUevent event = nullptr;
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_ILLEGAL_STATE);
  begin(stream);
  CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_ERROR_ILLEGAL_STATE);
  CHECK(on_another_thread(here.context, [&] { return cuStreamEndCapture(stream, &graph); }) ==
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(stream);
  CHECK(cuEventRecord(event, stream) == CUDA_SUCCESS);
  CHECK(cuStreamWaitEvent(member, event, 0) == CUDA_SUCCESS);
  CHECK(cuStreamEndCapture(member, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(on_another_thread(here.context, [&] { return end(stream); }) == CUDA_SUCCESS);
}

TEST_CASE("a capture ends with its stream or context") {
  const InContext here;
  Stream stream;
  begin(stream);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(here.alloc(8)) == CUDA_SUCCESS);
  {
    const InContext inner;
    begin(Stream());
    REQUIRE(cuStreamBeginCapture_v2_ptsz(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  }
  CHECK(cuMemFree_v2(here.alloc(8)) == CUDA_SUCCESS);
}

TEST_CASE("a thread captures its own default stream") {
  const InContext here;
  const CUdeviceptr live = here.alloc(8);
  REQUIRE(cuStreamBeginCapture_v2_ptsz(nullptr, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
  CHECK(cuMemsetD8Async_ptsz(live, 1, 8, nullptr) == CUDA_SUCCESS);
  CUstreamCaptureStatus status{};
  CHECK(cuStreamIsCapturing_ptsz(nullptr, &status) == CUDA_SUCCESS);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(on_another_thread(here.context, [&] { return cuStreamIsCapturing_ptsz(nullptr, &status); }) == CUDA_SUCCESS);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture_ptsz(nullptr, &graph) == CUDA_SUCCESS);
  CHECK(types_of(graph).size() == 1);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("a capture tells its graph and what the next node will depend on") {
  const InContext here;
  const CUdeviceptr live = here.alloc(8);
  const Stream stream;
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  CUgraph graph = nullptr, ended = nullptr;
  const CUgraphNode* dependencies = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 7;
  CHECK(cuStreamGetCaptureInfo(stream, &status, &id) == CUDA_SUCCESS);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  begin(stream);
  CHECK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count) == CUDA_SUCCESS);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(id != 0);
  CHECK(count == 0);
  CUgraphNode node = nullptr;
  CHECK(cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD8Async(live, 0, 8, stream) == CUDA_SUCCESS);
  CHECK(cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &dependencies, &edges, &count) == CUDA_SUCCESS);
  REQUIRE(count == 1);
  std::size_t room = 1;
  CHECK(cuGraphGetNodes(graph, &node, &room) == CUDA_SUCCESS);
  CHECK(dependencies[0] == node);
  CHECK(edges == nullptr);
  REQUIRE(cuStreamEndCapture(stream, &ended) == CUDA_SUCCESS);
  CHECK(ended == graph);
  CHECK(cuGraphDestroy(ended) == CUDA_SUCCESS);
}

TEST_CASE("a capture goes on in a graph that exists, after the nodes that are named") {
  const InContext here;
  const Stream stream;
  const CUdeviceptr live = here.alloc(8);
  const Graph graph;
  const CUgraphNode before = graph.empty();
  REQUIRE(cuStreamBeginCaptureToGraph(stream, graph, &before, nullptr, 1, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
          CUDA_SUCCESS);
  CHECK(cuMemsetD8Async(live, 0, 8, stream) == CUDA_SUCCESS);
  CUgraph ended = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &ended) == CUDA_SUCCESS);
  CHECK(ended == graph.handle);
  CHECK(types_of(graph).size() == 2);
  CHECK(edges_of(graph) == 1);
}
