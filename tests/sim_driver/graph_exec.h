// Instances of graphs: what is launched.
#pragma once

#include <mutex>

#include "tests/sim_driver/graph_memory.h"
#include "tests/sim_driver/graphs.h"

namespace vgsim {

// What a launch does: a copy of the graph, so that the graph may be changed or destroyed. Immutable.
struct GraphPlan {
  std::shared_ptr<Graph> copy;
  std::vector<const GraphNode*> order;  // of the nodes and those of child graphs
};

// Guarded by DriverLock but for `launching`.
class GraphExec {
 public:
  std::mutex launching;  // one launch at a time; locked before DriverLock
  std::shared_ptr<const GraphPlan> plan;
  std::shared_ptr<GraphAddresses> addresses;  // nullptr: no memory nodes
  unsigned long long flags = 0;
};

// nullptr where the nodes depend on each other in a circle.
std::shared_ptr<const GraphPlan> make_plan(const Graph& graph);

std::shared_ptr<GraphExec> find_exec(CUgraphExec handle);

// Calls host functions, so the driver must not be locked.
CUresult launch_graph(CUgraphExec handle, CUstream stream);

// Takes the memory of a first launch.
CUresult upload_graph(GraphExec& exec, CUstream stream);

}  // namespace vgsim
