#include "tests/sim_driver/graphs.h"

#include <unordered_map>
#include <unordered_set>

#include "tests/sim_driver/graph_memory.h"

namespace vgsim {
namespace {

struct Known {
  std::unordered_set<const void*> graphs, nodes;
  std::unordered_map<const void*, std::shared_ptr<Graph>> owned;
};

Known& known() {
  static auto* const all = new Known;
  return *all;
}

}  // namespace

GraphNode::GraphNode(Graph& graph_of_node, CUgraphNodeType type_of_node, std::vector<GraphNode*> dependencies_of_node,
                     NodeContent content_of_node)
    : graph(&graph_of_node),
      type(type_of_node),
      index(graph_of_node.nodes().size()),
      dependencies(std::move(dependencies_of_node)),
      content(std::move(content_of_node)) {
  known().nodes.insert(this);
}

GraphNode::~GraphNode() { known().nodes.erase(this); }

Graph::Graph() { known().graphs.insert(this); }
Graph::~Graph() { known().graphs.erase(this); }

GraphNode& Graph::add(CUgraphNodeType type, std::vector<GraphNode*> dependencies, NodeContent content) {
  if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE) memory_nodes_ = true;
  auto node = std::make_unique<GraphNode>(*this, type, std::move(dependencies), std::move(content));
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

const std::shared_ptr<GraphAddresses>& Graph::addresses() {
  if (!addresses_) addresses_ = std::make_shared<GraphAddresses>();
  return addresses_;
}

std::vector<const GraphNode*> Graph::in_order() const {
  std::vector<std::size_t> open(nodes_.size());
  std::vector<std::vector<std::size_t>> dependents(nodes_.size());
  for (const auto& node : nodes_) {
    open[node->index] = node->dependencies.size();
    for (const GraphNode* before : node->dependencies) dependents[before->index].push_back(node->index);
  }
  std::vector<const GraphNode*> order;
  for (const auto& node : nodes_)
    if (open[node->index] == 0) order.push_back(node.get());
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::size_t next : dependents[order[i]->index])
      if (--open[next] == 0) order.push_back(nodes_[next].get());
  return order;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  for (const auto& node : nodes_) {
    NodeContent content = node->content;
    if (content.child) content.child = content.child->clone();
    copy->add(node->type, {}, std::move(content));
  }
  for (const auto& node : nodes_)
    for (const GraphNode* before : node->dependencies)
      copy->nodes_[node->index]->dependencies.push_back(copy->nodes_[before->index].get());
  return copy;
}

Graph* find_graph(CUgraph handle) {
  return known().graphs.count(handle) != 0 ? reinterpret_cast<Graph*>(handle) : nullptr;
}

GraphNode* find_node(CUgraphNode handle) {
  return known().nodes.count(handle) != 0 ? reinterpret_cast<GraphNode*>(handle) : nullptr;
}

CUgraph give_to_program(std::shared_ptr<Graph> graph) {
  const CUgraph handle = graph->handle();
  known().owned.emplace(handle, std::move(graph));
  return handle;
}

std::shared_ptr<Graph> owned_graph(CUgraph handle) {
  const auto found = known().owned.find(handle);
  return found == known().owned.end() ? nullptr : found->second;
}

bool disown_graph(CUgraph handle) { return known().owned.erase(handle) != 0; }

bool nodes_of(const Graph& graph, const CUgraphNode* handles, std::size_t count, std::vector<GraphNode*>& out) {
  if (count != 0 && !handles) return false;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* node = find_node(handles[i]);
    if (!node || node->graph != &graph) return false;
    out.push_back(node);
  }
  return true;
}

bool comes_after(const std::vector<GraphNode*>& nodes, const GraphNode* wanted) {
  std::vector<const GraphNode*> open(nodes.begin(), nodes.end());
  std::unordered_set<const GraphNode*> seen(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (node == wanted) return true;
    for (const GraphNode* before : node->dependencies)
      if (seen.insert(before).second) open.push_back(before);
  }
  return false;
}

}  // namespace vgsim
