// Memory of graphs that outlives them, is shared by several or by streams, and what is refused.
#include <catch2/catch.hpp>

#include <memory>

#include "tests/sim_driver/tests/graph_memory_fixture.h"

namespace {

struct OwnStream {
  CUstream handle = nullptr;
  OwnStream() { REQUIRE(cuStreamCreate(&handle, 0) == CUDA_SUCCESS); }
  operator CUstream() const { return handle; }
};

}  // namespace

TEST_CASE("what a graph does not free lives on until somebody does") {
  const InContext here;
  const GraphMemory memory(0);
  auto graph = std::make_unique<Graph>();
  CUdeviceptr kept = 0, temporary = 0;
  const CUgraphNode first = graph->alloc(kChunk, kept);
  graph->free(temporary, {graph->alloc(kChunk, temporary, {first})});
  {
    const Exec exec(*graph);
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(cuMemsetD8_v2(kept, 1, kChunk) == CUDA_SUCCESS);
    CHECK(cuMemsetD8_v2(temporary, 1, 1) == CUDA_ERROR_INVALID_VALUE);
    std::size_t bytes = 0;
    CHECK(cuMemGetAddressRange_v2(nullptr, &bytes, kept + 100) == CUDA_SUCCESS);
    CHECK(bytes == kChunk);
    CUmemoryPool pool = nullptr;
    CHECK(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, kept) == CUDA_SUCCESS);
    CHECK(pool == nullptr);
    // Not a second time while it lives.
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphUpload(exec, nullptr) == CUDA_SUCCESS);
    CHECK(memory.reserved() == 2 * kChunk);
    memory.trim();
    CHECK(memory.reserved() == kChunk);
    CHECK(memory.used() == kChunk);
  }
  graph.reset();
  memory.trim();
  CHECK(here.taken() == kChunk);
  CHECK((GENERATE(true, false) ? cuMemFreeAsync(kept, nullptr) : cuMemFree_v2(kept)) == CUDA_SUCCESS);
  CHECK(here.taken() == kChunk);
  CHECK(memory.used() == 0);
  memory.trim();
  CHECK(here.taken() == 0);
}

TEST_CASE("a graph is launched again once its allocation is freed, or by itself where it frees on launch") {
  const InContext here;
  const GraphMemory memory(0);
  const Graph graph;
  CUdeviceptr kept = 0;
  graph.alloc(kChunk, kept);
  const bool frees_itself = GENERATE(true, false);
  const Exec exec(graph, frees_itself ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0);
  for (int i = 0; i < 3; ++i) {
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(memory.reserved() == kChunk);
    if (!frees_itself) CHECK(cuMemFreeAsync(kept, nullptr) == CUDA_SUCCESS);
  }
  if (frees_itself) CHECK(cuMemFree_v2(kept) == CUDA_SUCCESS);
}

TEST_CASE("a graph frees what another one allocated") {
  const InContext here;
  const GraphMemory memory(0);
  const Graph first, second;
  CUdeviceptr address = 0;
  first.alloc(kChunk, address);
  second.free(address, {});
  const Exec allocates(first), frees(second);
  for (int i = 0; i < 2; ++i) {
    CHECK(cuGraphLaunch(allocates, nullptr) == CUDA_SUCCESS);
    CHECK(memory.used() == kChunk);
    CHECK(cuGraphLaunch(frees, nullptr) == CUDA_SUCCESS);
    CHECK(memory.used() == 0);
  }
  CHECK(cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("graphs share memory in one stream, and in several after a synchronisation") {
  const InContext here;
  const GraphMemory memory(0);
  const OwnStream one, two;
  const Simple small(kChunk), large(3 * kChunk);
  const Exec first(small.graph), second(large.graph);
  CHECK(cuGraphLaunch(first, one) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(second, one) == CUDA_SUCCESS);
  CHECK(memory.reserved() == 3 * kChunk);
  CHECK(cuGraphLaunch(first, two) == CUDA_SUCCESS);
  CHECK(memory.reserved() == 4 * kChunk);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(second, two) == CUDA_SUCCESS);
  CHECK(memory.reserved() == 4 * kChunk);
  CHECK(memory.get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) >= 4 * kChunk);
}

TEST_CASE("after a trim no stream has anything of its own left") {
  const InContext here;
  const GraphMemory memory(0);
  const OwnStream one, two;
  const Simple simple(kChunk);
  const Exec exec(simple.graph);
  CHECK(cuGraphLaunch(exec, one) == CUDA_SUCCESS);
  memory.trim();
  CHECK(cuGraphLaunch(exec, two) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(exec, one) == CUDA_SUCCESS);
  CHECK(memory.reserved() == 2 * kChunk);
  CHECK(here.taken() == 2 * kChunk);
}

TEST_CASE("a launch that the device has no room for is refused and takes nothing") {
  const InContext here;
  const GraphMemory memory(0);
  const Simple simple(free_bytes() / kChunk * kChunk + kChunk);
  const Exec exec(simple.graph);
  CHECK(cuGraphUpload(exec, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(here.taken() == 0);
  CHECK(memory.used() == 0);
}

TEST_CASE("a graph with nodes on two devices takes memory of both or of none") {
  const InContext second(1);
  const std::uint64_t room_of_second = free_bytes();
  const InContext here;
  const GraphMemory memory(0), memory_of_second(1);
  const Graph graph, too_large;
  for (const Graph* target : {&graph, &too_large}) {
    CUdeviceptr address = 0;
    target->free(address, {target->alloc(kChunk, address, {}, 0)});
    const std::size_t bytes = target == &graph ? kChunk : room_of_second / kChunk * kChunk + kChunk;
    target->free(address, {target->alloc(bytes, address, {}, 1)});
  }
  const Exec refused(too_large), exec(graph);
  CHECK(cuGraphLaunch(refused, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  memory.trim();
  CHECK(memory.reserved() == 0);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(memory.reserved() == kChunk);
  CHECK(memory_of_second.reserved() == kChunk);
}

TEST_CASE("the marks of graph memory are reset to what is there") {
  const InContext here;
  const GraphMemory memory(0);
  const Simple simple;
  const Exec exec(simple.graph);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  memory.trim();
  CHECK(memory.get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) >= 64 * kMiB);
  cuuint64_t value = 0;
  CHECK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value) == CUDA_SUCCESS);
  CHECK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &value) == CUDA_SUCCESS);
  CHECK(memory.get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0);
  CHECK(memory.get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == 0);
  CHECK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetGraphMemAttribute(9, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGraphMemTrim(9) == CUDA_ERROR_INVALID_DEVICE);
}

TEST_CASE("a graph with memory nodes has one instance, no clone and no parent") {
  const InContext here;
  const GraphMemory memory(0);
  const Simple simple;
  CUgraphExec second = nullptr;
  CUgraph clone = nullptr;
  CUgraphNode node = nullptr;
  const Graph parent;
  {
    const Exec exec(simple.graph);
    CHECK(cuGraphInstantiateWithFlags(&second, simple.graph, 0) == CUDA_ERROR_NOT_SUPPORTED);
  }
  const Exec exec(simple.graph);
  CHECK(cuGraphClone(&clone, simple.graph) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, simple.graph) == CUDA_ERROR_NOT_SUPPORTED);
}
