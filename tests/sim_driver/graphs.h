// Graphs and their nodes, before they are instantiated.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tests/sim_driver/driver.h"

namespace vgsim {

class Graph;
class GraphAddresses;
class GraphExec;

// What a node does when its graph is launched. Kernels, empty nodes and events do nothing.
struct NodeContent {
  std::function<CUresult()> work;  // copies and memsets
  CUhostFn host = nullptr;
  void* host_data = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
  std::vector<CUmemAccessDesc> alloc_access;
  CUdeviceptr freed = 0;
  std::shared_ptr<Graph> child;
};

// Known to the program by its address as long as it lives. Guarded by DriverLock.
struct GraphNode {
  GraphNode(Graph& graph, CUgraphNodeType type, std::vector<GraphNode*> dependencies, NodeContent content);
  ~GraphNode();
  GraphNode(const GraphNode&) = delete;
  GraphNode& operator=(const GraphNode&) = delete;

  Graph* graph;
  CUgraphNodeType type;
  std::size_t index;  // in the graph
  std::vector<GraphNode*> dependencies;
  NodeContent content;
};

// Guarded by DriverLock.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  GraphNode& add(CUgraphNodeType type, std::vector<GraphNode*> dependencies, NodeContent content);

  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return nodes_; }
  bool has_memory_nodes() const { return memory_nodes_; }
  // Where its allocation nodes lie; made at the first.
  const std::shared_ptr<GraphAddresses>& addresses();
  // All nodes, each after those it depends on; fewer where there is a cycle.
  std::vector<const GraphNode*> in_order() const;
  // Without memory nodes.
  std::shared_ptr<Graph> clone() const;

  CUgraph handle() { return reinterpret_cast<CUgraph>(this); }

  std::weak_ptr<GraphExec> exec;  // of a graph with memory nodes, which has one at a time

 private:
  std::vector<std::unique_ptr<GraphNode>> nodes_;
  std::shared_ptr<GraphAddresses> addresses_;
  bool memory_nodes_ = false;
};

inline CUgraphNode handle_of(GraphNode* node) { return reinterpret_cast<CUgraphNode>(node); }

// nullptr for what is none. A child graph is one too.
Graph* find_graph(CUgraph handle);
GraphNode* find_node(CUgraphNode handle);

// A graph that the program owns by its handle.
CUgraph give_to_program(std::shared_ptr<Graph> graph);
std::shared_ptr<Graph> owned_graph(CUgraph handle);
bool disown_graph(CUgraph handle);

// False for handles that are no nodes of the graph.
bool nodes_of(const Graph& graph, const CUgraphNode* handles, std::size_t count, std::vector<GraphNode*>& out);

// Whether one of `nodes`, or what they depend on, is `wanted`.
bool comes_after(const std::vector<GraphNode*>& nodes, const GraphNode* wanted);

}  // namespace vgsim
