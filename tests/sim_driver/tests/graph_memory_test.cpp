#include <catch2/catch.hpp>

#include "tests/sim_driver/tests/graph_fixture.h"
#include "tests/sim_driver/tests/recording.h"

namespace {

// A graph of allocations of these sizes, each after what came before; all are freed at the end, or each before the
// next.
void add_allocations(const Graph& graph, const std::vector<std::size_t>& sizes, bool freed_between, bool freed = true) {
  std::vector<CUgraphNode> last;
  std::vector<CUdeviceptr> open;
  const auto free_open = [&] {
    for (const CUdeviceptr address : open) last = {graph.free(address, last)};
    open.clear();
  };
  for (const std::size_t bytes : sizes) {
    CUdeviceptr address = 0;
    last = {graph.alloc(bytes, address, last)};
    open.push_back(address);
    if (freed_between) free_open();
  }
  if (freed) free_open();
}

void add_recorded_case(const Graph& graph, const std::string& name, std::size_t bytes) {
  const bool three = name.rfind("three_64M", 0) == 0;
  const bool mix = name.rfind("small_mix", 0) == 0;
  std::vector<std::size_t> sizes(three ? 3 : 1, three ? bytes / 3 : bytes);
  if (mix) sizes = {1, 511, 4096, 100000, 1 << 20, bytes - 1 - 511 - 4096 - 100000 - (1 << 20)};
  add_allocations(graph, sizes, name.find("between") != std::string::npos, name.find("kept") == std::string::npos);
}

// 64 MiB that are freed.
struct Simple {
  Graph graph;
  CUdeviceptr address = 0;
  explicit Simple(std::size_t bytes = 64 * kMiB, int device = 0) {
    graph.free(address, {graph.alloc(bytes, address, {}, device)});
  }
};

struct OwnStream {
  CUstream handle = nullptr;
  OwnStream() { REQUIRE(cuStreamCreate(&handle, 0) == CUDA_SUCCESS); }
  operator CUstream() const { return handle; }
};

}  // namespace

TEST_CASE("graphs take what the recorded ones took, when they took it") {
  const InContext here;
  const auto rows = rows_of("graphs.tsv");
  REQUIRE(rows.size() == 7);
  for (const auto& row : rows) {
    INFO(row[0]);
    const GraphMemory memory(0);
    const bool kept = row[0].find("kept") != std::string::npos;
    Graph graph;
    add_recorded_case(graph, row[0], std::stoul(row[1]));
    CHECK(memory.reserved() == 0);
    Exec exec(graph, kept ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0);
    CHECK(std::to_string(memory.reserved()) == row[2]);
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(std::to_string(memory.reserved()) == row[3]);
    CHECK(here.taken() == memory.reserved());
    CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(std::to_string(memory.reserved()) == row[4]);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    exec.handle = nullptr;
    CHECK(std::to_string(memory.reserved()) == row[5]);
    if (kept) {
      CUgraphNode node = nullptr;
      std::size_t count = 1;
      CUDA_MEM_ALLOC_NODE_PARAMS params{};
      REQUIRE(cuGraphGetRootNodes(graph, &node, &count) == CUDA_SUCCESS);
      REQUIRE(cuGraphMemAllocNodeGetParams(node, &params) == CUDA_SUCCESS);
      CHECK(cuMemFree_v2(params.dptr) == CUDA_SUCCESS);
    }
    memory.trim();
    CHECK(std::to_string(memory.reserved()) == row[6]);
    CHECK(here.taken() == 0);
  }
}

TEST_CASE("an allocation node has its address from the start, and tells it") {
  const InContext here;
  const GraphMemory memory(0);
  const Graph graph;
  CUDA_MEM_ALLOC_NODE_PARAMS params{}, told{};
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  params.poolProps = pool_props();
  params.bytesize = 1000;
  params.accessDescs = &access;
  params.accessDescCount = 1;
  CUgraphNode alloc = nullptr, free = nullptr;
  REQUIRE(cuGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &params) == CUDA_SUCCESS);
  CHECK(params.dptr != 0);
  CHECK(cuGraphMemAllocNodeGetParams(alloc, &told) == CUDA_SUCCESS);
  CHECK(told.dptr == params.dptr);
  CHECK(told.bytesize == 1000);
  CHECK(told.accessDescs[0].location.id == 1);
  CHECK(cuMemsetD8_v2(params.dptr, 1, 1) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuGraphAddMemFreeNode(&free, graph, &alloc, 1, params.dptr) == CUDA_SUCCESS);
  CHECK(cuGraphAddMemFreeNode(&free, graph, &alloc, 1, params.dptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddMemFreeNode(&free, graph, &alloc, 1, here.alloc(8)) == CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr freed = 0;
  CHECK(cuGraphMemFreeNodeGetParams(free, &freed) == CUDA_SUCCESS);
  CHECK(freed == params.dptr);
  CHECK(cuGraphMemFreeNodeGetParams(alloc, &freed) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphMemAllocNodeGetParams(free, &told) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("wrong allocation nodes are refused") {
  const InContext here;
  const Graph graph;
  CUgraphNode node = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps = pool_props();
  CHECK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params) == CUDA_ERROR_INVALID_VALUE);
  params.bytesize = 1;
  CHECK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  params.poolProps.location.id = 9;
  CHECK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params) == CUDA_ERROR_INVALID_VALUE);
  params.poolProps.location.id = 0;
  params.bytesize = 1ULL << 50;
  CHECK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(types_of(graph).empty());
}

TEST_CASE("lives that overlap add up, those that surely do not share") {
  const InContext here;
  const GraphMemory memory(0);
  const Graph graph;
  CUdeviceptr first = 0, second = 0, third = 0;
  const CUgraphNode alloc = graph.alloc(kChunk, first), freed = graph.free(first, {alloc});
  // Beside the free, not after it.
  graph.free(second, {graph.alloc(kChunk, second, {alloc})});
  // After it, through another node.
  graph.free(third, {graph.alloc(kChunk, third, {graph.empty({freed})})});
  CHECK(second != first);
  CHECK(third == first);
  const Exec exec(graph);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(memory.reserved() == 2 * kChunk);
}

TEST_CASE("an upload takes the memory, a trim gives it back, a launch takes it again") {
  const InContext here;
  const GraphMemory memory(0);
  const Simple simple;
  const Exec exec(simple.graph);
  CHECK(cuGraphUpload(exec, nullptr) == CUDA_SUCCESS);
  CHECK(memory.reserved() == 64 * kMiB);
  CHECK(cuGraphUpload_ptsz(exec, nullptr) == CUDA_SUCCESS);
  CHECK(memory.reserved() == 64 * kMiB);
  memory.trim();
  CHECK(here.taken() == 0);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(here.taken() == 64 * kMiB);
}

TEST_CASE("an instance can be uploaded when it is made") {
  const InContext here;
  const GraphMemory memory(0);
  const Simple simple;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiateWithParams(&exec, simple.graph, &params) == CUDA_SUCCESS);
  CHECK(memory.reserved() == 64 * kMiB);
  CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
}

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
