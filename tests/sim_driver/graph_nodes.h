// Adding the memory nodes of a graph, for calls and for captures.
#pragma once

#include "tests/sim_driver/graphs.h"

namespace vgsim {

// `params.dptr` becomes the address, which is fixed from now on.
CUresult add_alloc_node(Graph& graph, std::vector<GraphNode*> dependencies, CUDA_MEM_ALLOC_NODE_PARAMS& params,
                        GraphNode*& out);

// `address` is that of an allocation node of this graph or of another.
CUresult add_free_node(Graph& graph, std::vector<GraphNode*> dependencies, CUdeviceptr address, GraphNode*& out);

}  // namespace vgsim
