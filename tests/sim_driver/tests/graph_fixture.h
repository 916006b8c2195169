// Short ways to make and ask graphs.
#pragma once

#include <vector>

#include "tests/sim_driver/tests/pool_fixture.h"

// What graphs take of a device; given back at both ends of a test.
struct GraphMemory {
  int device;

  explicit GraphMemory(int of_device) : device(of_device) { trim(); }
  ~GraphMemory() { cuDeviceGraphMemTrim(device); }
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  void trim() const { REQUIRE(cuDeviceGraphMemTrim(device) == CUDA_SUCCESS); }
  std::uint64_t get(CUgraphMem_attribute attribute) const {
    cuuint64_t value = 0;
    REQUIRE(cuDeviceGetGraphMemAttribute(device, attribute, &value) == CUDA_SUCCESS);
    return value;
  }
  std::uint64_t reserved() const { return get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT); }
  std::uint64_t used() const { return get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT); }
};

struct Graph {
  CUgraph handle = nullptr;

  Graph() { REQUIRE(cuGraphCreate(&handle, 0) == CUDA_SUCCESS); }
  ~Graph() {
    if (handle) cuGraphDestroy(handle);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  operator CUgraph() const { return handle; }

  CUgraphNode empty(std::vector<CUgraphNode> after = {}) const {
    CUgraphNode node = nullptr;
    REQUIRE(cuGraphAddEmptyNode(&node, handle, after.data(), after.size()) == CUDA_SUCCESS);
    return node;
  }
  // The node; the address comes in `address`.
  CUgraphNode alloc(std::size_t bytes, CUdeviceptr& address, std::vector<CUgraphNode> after = {},
                    int device = 0) const {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps = pool_props(CU_MEM_LOCATION_TYPE_DEVICE, device);
    params.bytesize = bytes;
    CUgraphNode node = nullptr;
    REQUIRE(cuGraphAddMemAllocNode(&node, handle, after.data(), after.size(), &params) == CUDA_SUCCESS);
    address = params.dptr;
    return node;
  }
  CUgraphNode free(CUdeviceptr address, std::vector<CUgraphNode> after) const {
    CUgraphNode node = nullptr;
    REQUIRE(cuGraphAddMemFreeNode(&node, handle, after.data(), after.size(), address) == CUDA_SUCCESS);
    return node;
  }
};

struct Exec {
  CUgraphExec handle = nullptr;

  explicit Exec(CUgraph graph, unsigned long long flags = 0) {
    REQUIRE(cuGraphInstantiateWithFlags(&handle, graph, flags) == CUDA_SUCCESS);
  }
  ~Exec() {
    if (handle) cuGraphExecDestroy(handle);
  }
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;
  operator CUgraphExec() const { return handle; }
};

inline std::vector<CUgraphNodeType> types_of(CUgraph graph) {
  std::size_t count = 0;
  REQUIRE(cuGraphGetNodes(graph, nullptr, &count) == CUDA_SUCCESS);
  std::vector<CUgraphNode> nodes(count);
  REQUIRE(cuGraphGetNodes(graph, nodes.data(), &count) == CUDA_SUCCESS);
  std::vector<CUgraphNodeType> types;
  for (const CUgraphNode node : nodes) {
    types.emplace_back();
    REQUIRE(cuGraphNodeGetType(node, &types.back()) == CUDA_SUCCESS);
  }
  return types;
}

inline std::size_t edges_of(CUgraph graph) {
  std::size_t count = 0;
  REQUIRE(cuGraphGetEdges(graph, nullptr, nullptr, &count) == CUDA_SUCCESS);
  return count;
}
