// What graphs take of a device, and when.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/sim_driver/tests/graph_memory_fixture.h"
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
