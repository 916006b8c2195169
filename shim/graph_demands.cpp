#include "shim/graph_demands.h"

#include <algorithm>

#include "shim/driver.h"

namespace vramguard {

namespace {

using namespace abi;

constexpr Bytes kGraphStep = 32_MiB;

void add(std::vector<GraphDemand>& demands, int device, Bytes bytes) {
  const auto found = std::ranges::find(demands, device, &GraphDemand::device);
  if (found == demands.end()) {
    demands.push_back({device, bytes});
  } else {
    found->most = bytes > UINT64_MAX - found->most ? UINT64_MAX : found->most + bytes;
  }
}

std::vector<CUgraphNode> nodes_of(CUgraph graph) {
  std::size_t count = 0;
  if (ask(&DriverQueries::cuGraphGetNodes, graph, nullptr, &count) != CUDA_SUCCESS) return {};
  std::vector<CUgraphNode> nodes(count);
  if (ask(&DriverQueries::cuGraphGetNodes, graph, nodes.data(), &count) != CUDA_SUCCESS) return {};
  nodes.resize(std::min(count, nodes.size()));
  return nodes;
}

void walk(CUgraph graph, std::vector<GraphDemand>& demands) {
  for (const CUgraphNode node : nodes_of(graph)) {
    CUgraphNodeType type{};
    if (ask(&DriverQueries::cuGraphNodeGetType, node, &type) != CUDA_SUCCESS) continue;
    CUgraph child = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      if (ask(&DriverQueries::cuGraphChildGraphNodeGetGraph, node, &child) == CUDA_SUCCESS) walk(child, demands);
    } else if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
      if (ask(&DriverQueries::cuGraphMemAllocNodeGetParams, node, &params) != CUDA_SUCCESS) continue;
      if (params.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE) continue;
      add(demands, params.poolProps.location.id, round_up(params.bytesize, kGraphStep));
    }
  }
}

}  // namespace

std::optional<std::vector<GraphDemand>> demands_of(CUgraph graph) noexcept try {
  std::vector<GraphDemand> demands;
  walk(graph, demands);
  return demands;
} catch (...) {
  return std::nullopt;
}

}  // namespace vramguard
