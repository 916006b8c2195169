#include <algorithm>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/graphs.h"

namespace vgsim {
namespace {

CUresult create(CUgraph* out, unsigned int flags) {
  if (!out || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = give_to_program(std::make_shared<Graph>());
  return CUDA_SUCCESS;
}

CUresult destroy(CUgraph handle) {
  const auto graph = owned_graph(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  ruin_captures_into(*graph);
  disown_graph(handle);
  return CUDA_SUCCESS;
}

CUresult clone(CUgraph* out, CUgraph handle) {
  const Graph* graph = find_graph(handle);
  if (!out || !graph) return CUDA_ERROR_INVALID_VALUE;
  if (graph->has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
  *out = give_to_program(graph->clone());
  return CUDA_SUCCESS;
}

// Fills what the program has room for, the rest with NULL; without an array only says how many there are.
class Listing {
 public:
  Listing(bool wants_items, std::size_t& count) : wanted_(wants_items), count_(&count), room_(count) {}
  // Where the next item goes; false when there is no room.
  bool next(std::size_t& index) {
    index = found_++;
    return wanted_ && index < room_;
  }
  template <class Item>
  void end(Item* items) {
    if (wanted_ && found_ < room_) std::fill(items + found_, items + room_, Item{});
    *count_ = wanted_ ? std::min(found_, room_) : found_;
  }

 private:
  bool wanted_;
  std::size_t* count_;
  std::size_t room_;
  std::size_t found_ = 0;
};

CUresult list_nodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count, bool roots_only) {
  const Graph* graph = find_graph(handle);
  if (!graph || !count) return CUDA_ERROR_INVALID_VALUE;
  Listing listing(nodes != nullptr, *count);
  for (const auto& node : graph->nodes()) {
    std::size_t index = 0;
    if (roots_only && !node->dependencies.empty()) continue;
    if (listing.next(index)) nodes[index] = handle_of(node.get());
  }
  listing.end(nodes);
  return CUDA_SUCCESS;
}

CUresult list_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
  const Graph* graph = find_graph(handle);
  if (!graph || !count || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t room = *count;
  Listing listing(from != nullptr, *count);
  for (const auto& node : graph->nodes()) {
    for (GraphNode* before : node->dependencies) {
      std::size_t index = 0;
      if (!listing.next(index)) continue;
      from[index] = handle_of(before);
      to[index] = handle_of(node.get());
    }
  }
  listing.end(from);
  if (to) std::fill(to + *count, to + room, nullptr);
  if (data && from) std::fill(data, data + *count, CUgraphEdgeData{});
  return CUDA_SUCCESS;
}

CUresult add_dependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, std::size_t count) {
  const Graph* graph = find_graph(handle);
  std::vector<GraphNode*> before, after;
  if (!graph || !nodes_of(*graph, from, count, before) || !nodes_of(*graph, to, count, after))
    return CUDA_ERROR_INVALID_VALUE;
  const auto has = [](const GraphNode& node, const GraphNode* other) {
    return std::find(node.dependencies.begin(), node.dependencies.end(), other) != node.dependencies.end();
  };
  for (std::size_t i = 0; i < count; ++i)
    if (before[i] == after[i] || has(*after[i], before[i])) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i)
    if (!has(*after[i], before[i])) after[i]->dependencies.push_back(before[i]);
  return CUDA_SUCCESS;
}

// Writes get(node) of a node of that type.
template <class Value, class Get>
CUresult node_query(CUgraphNode handle, CUgraphNodeType type, Value* out, Get get) {
  const GraphNode* node = find_node(handle);
  if (!out || !node || node->type != type) return CUDA_ERROR_INVALID_VALUE;
  *out = get(*node);
  return CUDA_SUCCESS;
}

CUresult get_type(CUgraphNode handle, CUgraphNodeType* out) {
  const GraphNode* node = find_node(handle);
  if (!out || !node) return CUDA_ERROR_INVALID_VALUE;
  *out = node->type;
  return CUDA_SUCCESS;
}

CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(const GraphNode& node) {
  CUDA_MEM_ALLOC_NODE_PARAMS params = node.content.alloc;
  params.accessDescs = node.content.alloc_access.data();
  return params;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuGraphCreate, (CUgraph * out, unsigned int flags), create(out, flags))
VGSIM_API(cuGraphDestroy, (CUgraph graph), destroy(graph))
VGSIM_API(cuGraphClone, (CUgraph * out, CUgraph graph), clone(out, graph))
VGSIM_API(cuGraphGetNodes, (CUgraph graph, CUgraphNode* nodes, std::size_t* count),
          list_nodes(graph, nodes, count, false))
VGSIM_API(cuGraphGetRootNodes, (CUgraph graph, CUgraphNode* nodes, std::size_t* count),
          list_nodes(graph, nodes, count, true))
VGSIM_API(cuGraphGetEdges, (CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count),
          list_edges(graph, from, to, nullptr, count))
VGSIM_API(cuGraphGetEdges_v2,
          (CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count),
          list_edges(graph, from, to, data, count))
VGSIM_API(cuGraphAddDependencies, (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count),
          add_dependencies(graph, from, to, count))
VGSIM_API(cuGraphAddDependencies_v2,
          (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*, std::size_t count),
          add_dependencies(graph, from, to, count))
VGSIM_API(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType* out), get_type(node, out))
VGSIM_API(cuGraphMemAllocNodeGetParams, (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* out),
          node_query(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, out, alloc_params))
VGSIM_API(cuGraphMemFreeNodeGetParams, (CUgraphNode node, CUdeviceptr* out),
          node_query(node, CU_GRAPH_NODE_TYPE_MEM_FREE, out, [](const GraphNode& n) { return n.content.freed; }))
VGSIM_API(cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph* out),
          node_query(node, CU_GRAPH_NODE_TYPE_GRAPH, out, [](const GraphNode& n) { return n.content.child->handle(); }))
