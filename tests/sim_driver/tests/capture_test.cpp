#include <catch2/catch.hpp>

#include <functional>
#include <thread>
#include <vector>

#include "tests/sim_driver/tests/array_fixture.h"
#include "tests/sim_driver/tests/graph_fixture.h"
#include "tests/sim_driver/tests/vmm_fixture.h"

namespace {

struct Stream {
  CUstream handle = nullptr;
  explicit Stream(unsigned int flags = 0) { REQUIRE(cuStreamCreate(&handle, flags) == CUDA_SUCCESS); }
  operator CUstream() const { return handle; }
};

CUstreamCaptureStatus status_of(CUstream stream) {
  CUstreamCaptureStatus status{};
  REQUIRE(cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
  return status;
}

void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
  REQUIRE(cuStreamBeginCapture_v2(stream, mode) == CUDA_SUCCESS);
}

// The result of the end; a graph is destroyed.
CUresult end(CUstream stream) {
  CUgraph graph = nullptr;
  const CUresult result = cuStreamEndCapture(stream, &graph);
  CHECK((graph != nullptr) == (result == CUDA_SUCCESS));
  if (graph) CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
  return result;
}

CUresult on_another_thread(CUcontext context, const std::function<CUresult()>& call) {
  CUresult result = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    if (cuCtxSetCurrent(context) == CUDA_SUCCESS) result = call();
  }).join();
  return result;
}

CUresult create_array(unsigned int flags) {
  const auto wanted = shape(64, 64, 0, CU_AD_FORMAT_FLOAT, 1, flags);
  CUarray array = nullptr;
  const CUresult result = cuArray3DCreate_v2(&array, &wanted);
  return result == CUDA_SUCCESS ? cuArrayDestroy(array) : result;
}

CUresult create_mipmap() {
  const auto wanted = shape(64, 64);
  CUmipmappedArray mipmap = nullptr;
  const CUresult result = cuMipmappedArrayCreate(&mipmap, &wanted, 3);
  return result == CUDA_SUCCESS ? cuMipmappedArrayDestroy(mipmap) : result;
}

CUresult create_pool() {
  const CUmemPoolProps props = pool_props();
  CUmemoryPool pool = nullptr;
  const CUresult result = cuMemPoolCreate(&pool, &props);
  return result == CUDA_SUCCESS ? cuMemPoolDestroy(pool) : result;
}

CUresult allocate_host() {
  void* host = nullptr;
  const CUresult result = cuMemAllocHost_v2(&host, 4096);
  return result == CUDA_SUCCESS ? cuMemFreeHost(host) : result;
}

// Of memory that is not managed.
CUresult advise(CUdeviceptr live) {
  const CUresult result = cuMemAdvise(live, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
  return result == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : result;
}

CUresult copy_box(CUdeviceptr live, unsigned char* host) {
  CUDA_MEMCPY3D_v2 copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = live;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = host;
  copy.WidthInBytes = copy.Height = copy.Depth = 2;
  return cuMemcpy3D_v2(&copy);
}

// What may ruin a capture, each with the memory that it needs.
struct Forbidden {
  const char* name;
  std::function<CUresult(CUdeviceptr, CUmemoryPool)> call;
};

const std::vector<Forbidden>& forbidden_calls() {
  static CUdeviceptr p;
  static std::size_t pitch;
  static cuuint64_t value;
  static unsigned char host[8];
  static const std::vector<Forbidden> calls = {
      {"cuMemAlloc", [](CUdeviceptr, CUmemoryPool) { return cuMemAlloc_v2(&p, 1); }},
      {"cuMemAllocPitch", [](CUdeviceptr, CUmemoryPool) { return cuMemAllocPitch_v2(&p, &pitch, 4, 4, 4); }},
      {"cuMemAllocManaged",
       [](CUdeviceptr, CUmemoryPool) { return cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL); }},
      {"cuMemAllocHost", [](CUdeviceptr, CUmemoryPool) { return allocate_host(); }},
      {"cuMemAdvise", [](CUdeviceptr live, CUmemoryPool) { return advise(live); }},
      {"cuArray3DCreate", [](CUdeviceptr, CUmemoryPool) { return create_array(0); }},
      {"cuArray3DCreate of a deferred array",
       [](CUdeviceptr, CUmemoryPool) { return create_array(CUDA_ARRAY3D_DEFERRED_MAPPING); }},
      {"cuMipmappedArrayCreate", [](CUdeviceptr, CUmemoryPool) { return create_mipmap(); }},
      {"cuMemPoolCreate", [](CUdeviceptr, CUmemoryPool) { return create_pool(); }},
      {"cuMemFree", [](CUdeviceptr live, CUmemoryPool) { return cuMemFree_v2(live); }},
      {"cuMemPoolGetAttribute",
       [](CUdeviceptr, CUmemoryPool pool) {
         return cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value);
       }},
      {"cuMemPoolTrimTo", [](CUdeviceptr, CUmemoryPool pool) { return cuMemPoolTrimTo(pool, 0); }},
      {"cuMemcpyDtoH", [](CUdeviceptr live, CUmemoryPool) { return cuMemcpyDtoH_v2(host, live, 8); }},
      {"cuMemcpy3D", [](CUdeviceptr live, CUmemoryPool) { return copy_box(live, host); }},
      {"cuMemsetD8", [](CUdeviceptr live, CUmemoryPool) { return cuMemsetD8_v2(live, 0, 8); }},
      {"cuCtxSynchronize", [](CUdeviceptr, CUmemoryPool) { return cuCtxSynchronize(); }},
  };
  return calls;
}

}  // namespace

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

TEST_CASE("a forbidden call ruins the capture of its thread") {
  const InContext here;
  const Pool pool;
  const Stream stream(1);
  const auto mode = GENERATE(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  for (const Forbidden& forbidden : forbidden_calls()) {
    INFO(forbidden.name);
    const CUdeviceptr live = here.alloc(64);
    const std::uint64_t taken = here.taken();
    begin(stream, mode);
    CHECK(forbidden.call(live, pool.handle) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(here.taken() == taken);
    CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CHECK(cuMemsetD8Async(live, 0, 8, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CUdeviceptr address = 0;
    CHECK(cuMemAllocAsync(&address, 1, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(cuMemFree_v2(live) == CUDA_SUCCESS);
  }
}

TEST_CASE("a thread in relaxed mode, and a relaxed capture, forbid nothing") {
  const InContext here;
  const Pool pool;
  const Stream stream(1);
  const bool relaxed_thread = GENERATE(true, false);
  for (const Forbidden& allowed : forbidden_calls()) {
    INFO(allowed.name);
    const CUdeviceptr live = here.alloc(64);
    begin(stream, relaxed_thread ? CU_STREAM_CAPTURE_MODE_GLOBAL : CU_STREAM_CAPTURE_MODE_RELAXED);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (relaxed_thread) CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(allowed.call(live, pool.handle) == CUDA_SUCCESS);
    if (relaxed_thread) CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(end(stream) == CUDA_SUCCESS);
    cuMemFree_v2(live);
  }
}

TEST_CASE("a global capture is ruined by any thread, a thread-local one by its own only") {
  const InContext here;
  const Stream stream(1);
  const auto allocate = [] {
    CUdeviceptr address = 0;
    return cuMemAlloc_v2(&address, 1);
  };
  const auto allocate_thread_local = [&] {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    cuThreadExchangeStreamCaptureMode(&mode);
    return allocate();
  };
  begin(stream);
  CHECK(on_another_thread(here.context, allocate_thread_local) == CUDA_SUCCESS);
  CHECK(on_another_thread(here.context, allocate) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CHECK(on_another_thread(here.context, allocate) == CUDA_SUCCESS);
  CHECK(end(stream) == CUDA_SUCCESS);
}

TEST_CASE("calls that the real driver allows do not ruin a capture") {
  const InContext here;
  const Stream stream, other;
  begin(stream);
  std::size_t bytes = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  cuuint64_t value = 0;
  CHECK(cuMemGetInfo_v2(&bytes, &bytes) == CUDA_SUCCESS);
  CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
  CHECK(cuStreamGetCtx(stream, &context) == CUDA_SUCCESS);
  CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &value) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(other) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  CHECK(cuMemAllocAsync(&address, 1, other) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(address, other) == CUDA_SUCCESS);
  CUmemoryPool pool = nullptr;
  CHECK(cuDeviceGetMemPool(&pool, 0) == CUDA_SUCCESS);
  CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(0, stream) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(0, other) == CUDA_SUCCESS);
  const std::uint64_t taken = here.taken();
  const CUdeviceptr range = reserve(kPage);
  const auto handle = create(kPage);
  unsigned int type = 0;
  CHECK(cuMemMap(range, kPage, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range) == CUDA_SUCCESS);
  CHECK(cuMemUnmap(range, kPage) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(range, kPage) == CUDA_SUCCESS);
  CHECK(here.taken() == taken);
  CHECK(end(stream) == CUDA_SUCCESS);
}

TEST_CASE("a captured stream can be neither waited for nor asked") {
  const InContext here;
  const Stream stream;
  const auto mode = GENERATE(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED);
  for (const auto call : {&cuStreamSynchronize, &cuStreamQuery}) {
    begin(stream, mode);
    CHECK(call(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  begin(stream, mode);
  CHECK(cuStreamAddCallback(
            stream, [](CUstream, CUresult, void*) {}, nullptr, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("the legacy stream would wait for captured streams that are not made non-blocking") {
  const InContext here;
  const CUdeviceptr live = here.alloc(8);
  const Stream blocking, non_blocking(1);
  CUstreamCaptureStatus status{};
  begin(non_blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(cuMemsetD8Async(live, 0, 8, nullptr) == CUDA_SUCCESS);
  CHECK(end(non_blocking) == CUDA_SUCCESS);
  begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(status_of(blocking) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(cuMemsetD8Async(live, 0, 8, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(end(blocking) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

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

TEST_CASE("prefetches cannot be captured") {
  const InContext here;
  const Stream stream;
  CUdeviceptr managed = 0;
  REQUIRE(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  begin(stream);
  CHECK(cuMemPrefetchAsync(managed, 4096, 0, stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(here.taken() == 0);
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
