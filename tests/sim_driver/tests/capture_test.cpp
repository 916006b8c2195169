// What captured work becomes.
#include <catch2/catch.hpp>

#include <vector>

#include "tests/sim_driver/tests/capture_fixture.h"

TEST_CASE("work on a captured stream becomes nodes in their order and is done by the launch") {
  const InContext here;
  const Stream stream;
  const CUdeviceptr live = here.alloc(16);
  REQUIRE(cuMemsetD8_v2(live, 1, 16) == CUDA_SUCCESS);
  unsigned char seen[16] = {};
  int calls = 0;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  REQUIRE(cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "kernel") == CUDA_SUCCESS);

  begin(stream);
  CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(cuMemsetD8Async(live, 7, 16, stream) == CUDA_SUCCESS);
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoHAsync_v2(seen, live, 16, stream) == CUDA_SUCCESS);
  CHECK(cuLaunchHostFunc(
            stream, [](void* data) { ++*static_cast<int*>(data); }, &calls) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK(calls == 0);
  CHECK(seen[0] == 0);

  CHECK(types_of(graph) == std::vector<CUgraphNodeType>{CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_KERNEL,
                                                        CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_HOST});
  CHECK(edges_of(graph) == 3);
  const Exec exec(graph);
  CHECK(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
  CHECK(calls == 1);
  CHECK(seen[15] == 7);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("an allocation on a captured stream takes nothing until the graph is launched") {
  const InContext here;
  const GraphMemory memory(0);
  const Stream stream;
  begin(stream);
  CUdeviceptr first = 0, second = 0;
  REQUIRE(cuMemAllocAsync(&first, 40 * kMiB, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocAsync(&second, 40 * kMiB, stream) == CUDA_SUCCESS);
  CHECK(first != 0);
  CHECK(first != second);
  CHECK(cuMemsetD8Async(first, 3, kMiB, stream) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(first, stream) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(second, stream) == CUDA_SUCCESS);
  // An address is freed once, and only one of a graph can be.
  CHECK(cuMemFreeAsync(second, stream) == CUDA_ERROR_INVALID_VALUE);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(cuMemFree_v2(first) == CUDA_ERROR_INVALID_VALUE);
  const Exec exec(graph);
  CHECK(here.taken() == 0);
  CHECK(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
  CHECK(here.taken() == 96 * kMiB);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("the per-thread forms of all work are captured on the thread's default stream") {
  const InContext here;
  const CUdeviceptr live = here.alloc(64);
  char host[8] = {};
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUevent event = nullptr;
  REQUIRE(cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "kernel") == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  REQUIRE(cuStreamBeginCapture_v2_ptsz(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
  CUDA_MEMCPY2D_v2 copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = live;
  copy.dstDevice = live + 32;
  copy.WidthInBytes = 8;
  copy.Height = 1;
  CUdeviceptr address = 0;
  CHECK(cuLaunchKernel_ptsz(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuLaunchKernelEx_ptsz(&config, function, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuLaunchCooperativeKernel_ptsz(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuLaunchHostFunc_ptsz(
            nullptr, [](void*) {}, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpyAsync_ptsz(live, live + 32, 8, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoDAsync_v2_ptsz(live, host, 8, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoHAsync_v2_ptsz(host, live, 8, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoDAsync_v2_ptsz(live, live + 32, 8, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpyPeerAsync_ptsz(live, here.context, live + 32, here.context, 8, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpy2DAsync_v2_ptsz(&copy, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemsetD8Async_ptsz(live, 0, 8, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemsetD16Async_ptsz(live, 0, 4, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemsetD32Async_ptsz(live, 0, 2, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemsetD2D8Async_ptsz(live, 8, 0, 8, 2, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemsetD2D16Async_ptsz(live, 8, 0, 4, 2, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemsetD2D32Async_ptsz(live, 8, 0, 2, 2, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemAllocAsync_ptsz(&address, 8, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync_ptsz(address, nullptr) == CUDA_SUCCESS);
  CHECK(cuEventRecordWithFlags_ptsz(event, nullptr, 1) == CUDA_SUCCESS);
  CHECK(cuStreamWaitEvent_ptsz(nullptr, event, 1) == CUDA_SUCCESS);
  CHECK(cuEventRecord_ptsz(event, nullptr) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture_ptsz(nullptr, &graph) == CUDA_SUCCESS);
  using Types = std::vector<CUgraphNodeType>;
  Types expected(3, CU_GRAPH_NODE_TYPE_KERNEL);
  expected.push_back(CU_GRAPH_NODE_TYPE_HOST);
  expected.insert(expected.end(), 6, CU_GRAPH_NODE_TYPE_MEMCPY);
  expected.insert(expected.end(), 6, CU_GRAPH_NODE_TYPE_MEMSET);
  for (const auto last : {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                          CU_GRAPH_NODE_TYPE_WAIT_EVENT})
    expected.push_back(last);
  CHECK(types_of(graph) == expected);
  CHECK(edges_of(graph) == expected.size() - 1);
  CHECK(cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
}
