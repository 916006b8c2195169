#include "tests/sim_driver/graph_nodes.h"

#include <algorithm>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/graph_memory.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/memory_copy_box.h"
#include "tests/sim_driver/memory_set.h"

namespace vgsim {

CUresult add_alloc_node(Graph& graph, std::vector<GraphNode*> dependencies, CUDA_MEM_ALLOC_NODE_PARAMS& params,
                        GraphNode*& out) {
  const CUmemPoolProps& props = params.poolProps;
  if (params.bytesize == 0 || (params.accessDescCount != 0 && !params.accessDescs)) return CUDA_ERROR_INVALID_VALUE;
  if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  Device* device = find_device(props.location.id);
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (params.bytesize > driver().shared->total(device->physical)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUdeviceptr address = graph.addresses()->place(*device, params.bytesize, dependencies);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  params.dptr = address;
  NodeContent content;
  content.alloc = params;
  content.alloc_access.assign(params.accessDescs, params.accessDescs + params.accessDescCount);
  out = &graph.add(CU_GRAPH_NODE_TYPE_MEM_ALLOC, std::move(dependencies), std::move(content));
  return CUDA_SUCCESS;
}

CUresult add_free_node(Graph& graph, std::vector<GraphNode*> dependencies, CUdeviceptr address, GraphNode*& out) {
  GraphAddresses* owner = find_graph_addresses(address);
  if (!owner) return CUDA_ERROR_INVALID_VALUE;
  const bool own = graph.addresses().get() == owner;
  if (own && !owner->can_free(address)) return CUDA_ERROR_INVALID_VALUE;
  NodeContent content;
  content.freed = address;
  out = &graph.add(CU_GRAPH_NODE_TYPE_MEM_FREE, std::move(dependencies), std::move(content));
  if (own) owner->add_free(address, *out);
  return CUDA_SUCCESS;
}

namespace {

// What the first arguments of every function say that adds a node.
struct Place {
  CUgraphNode* out;
  CUgraph graph;
  const CUgraphNode* dependencies;
  std::size_t count;
};

// Calls add(graph, dependencies, node) once they are known to be good.
template <class Add>
CUresult add_at(const Place& place, Add add) {
  Graph* graph = find_graph(place.graph);
  std::vector<GraphNode*> dependencies;
  if (!place.out || !graph || !nodes_of(*graph, place.dependencies, place.count, dependencies))
    return CUDA_ERROR_INVALID_VALUE;
  GraphNode* node = nullptr;
  const CUresult result = add(*graph, std::move(dependencies), node);
  if (result == CUDA_SUCCESS) *place.out = handle_of(node);
  return result;
}

CUresult add_plain(const Place& place, CUgraphNodeType type, NodeContent content = {}) {
  return add_at(place, [&](Graph& graph, std::vector<GraphNode*> dependencies, GraphNode*& node) {
    node = &graph.add(type, std::move(dependencies), std::move(content));
    return CUDA_SUCCESS;
  });
}

CUresult add_alloc(const Place& place, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  return add_at(place, [&](Graph& graph, std::vector<GraphNode*> dependencies, GraphNode*& node) {
    return add_alloc_node(graph, std::move(dependencies), *params, node);
  });
}

CUresult add_free(const Place& place, CUdeviceptr address) {
  return add_at(place, [&](Graph& graph, std::vector<GraphNode*> dependencies, GraphNode*& node) {
    return add_free_node(graph, std::move(dependencies), address, node);
  });
}

template <class Params>
CUresult add_kernel(const Place& place, const Params* params, const void* kernel) {
  if (!params || !handles().kernels.find(kernel)) return CUDA_ERROR_INVALID_VALUE;
  for (const unsigned int size :
       {params->gridDimX, params->gridDimY, params->gridDimZ, params->blockDimX, params->blockDimY, params->blockDimZ})
    if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  return add_plain(place, CU_GRAPH_NODE_TYPE_KERNEL);
}

CUresult add_kernel(const Place& place, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return add_kernel(place, params, params ? params->func : nullptr);
}

CUresult add_kernel(const Place& place, const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  return add_kernel(place, params, params->func ? static_cast<const void*>(params->func) : params->kern);
}

template <class Params>
CUresult add_memset(const Place& place, const Params* params) {
  if (!params || params->width == 0 || params->height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4) return CUDA_ERROR_INVALID_VALUE;
  NodeContent content;
  content.work = [to = *params] { return set_rows(to.dst, to.pitch, to.value, to.elementSize, to.width, to.height); };
  return add_plain(place, CU_GRAPH_NODE_TYPE_MEMSET, std::move(content));
}

CUresult add_memcpy(const Place& place, const CUDA_MEMCPY3D_v2* params) {
  if (!params || !are_levels_good(*params)) return CUDA_ERROR_INVALID_VALUE;
  NodeContent content;
  content.work = [copy = *params] {
    return copy_box(side_written(copy), side_read(copy), copy.WidthInBytes, copy.Height, copy.Depth);
  };
  return add_plain(place, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(content));
}

CUresult add_host(const Place& place, const CUDA_HOST_NODE_PARAMS_v1* params) {
  if (!params || !params->fn) return CUDA_ERROR_INVALID_VALUE;
  NodeContent content;
  content.host = params->fn;
  content.host_data = params->userData;
  return add_plain(place, CU_GRAPH_NODE_TYPE_HOST, std::move(content));
}

// The node has a copy. Graphs with memory nodes cannot be copied.
CUresult add_child(const Place& place, CUgraph handle) {
  const Graph* child = find_graph(handle);
  if (!child || handle == place.graph) return CUDA_ERROR_INVALID_VALUE;
  if (child->has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
  NodeContent content;
  content.child = child->clone();
  return add_plain(place, CU_GRAPH_NODE_TYPE_GRAPH, std::move(content));
}

CUresult add_child(const Place& place, const CUDA_CHILD_GRAPH_NODE_PARAMS& params) {
  if (params.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) return CUDA_ERROR_NOT_SUPPORTED;
  return add_child(place, params.graph);
}

CUresult add_event(const Place& place, CUgraphNodeType type, CUevent event) {
  if (!handles().events.find(event)) return CUDA_ERROR_INVALID_VALUE;
  return add_plain(place, type);
}

CUresult add_any(const Place& place, CUgraphNodeParams* params) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return add_kernel(place, &params->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return add_memcpy(place, &params->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return add_memset(place, &params->memset);
    case CU_GRAPH_NODE_TYPE_HOST:
      return add_host(place, &params->host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return add_child(place, params->graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return add_plain(place, CU_GRAPH_NODE_TYPE_EMPTY);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return add_event(place, params->type, params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return add_event(place, params->type, params->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return add_alloc(place, &params->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return add_free(place, params->free.dptr);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuGraphAddMemAllocNode,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
           CUDA_MEM_ALLOC_NODE_PARAMS* params),
          add_alloc({out, graph, dependencies, count}, params))
VGSIM_API(cuGraphAddMemFreeNode,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, CUdeviceptr address),
          add_free({out, graph, dependencies, count}, address))
VGSIM_API(cuGraphAddEmptyNode, (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count),
          add_plain({out, graph, dependencies, count}, CU_GRAPH_NODE_TYPE_EMPTY))
VGSIM_API(cuGraphAddKernelNode,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
           const CUDA_KERNEL_NODE_PARAMS_v1* params),
          add_kernel({out, graph, dependencies, count}, params))
VGSIM_API(cuGraphAddKernelNode_v2,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
           const CUDA_KERNEL_NODE_PARAMS_v2* params),
          add_kernel({out, graph, dependencies, count}, params))
VGSIM_API(cuGraphAddMemsetNode,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
           const CUDA_MEMSET_NODE_PARAMS_v1* params, CUcontext),
          add_memset({out, graph, dependencies, count}, params))
VGSIM_API(cuGraphAddMemcpyNode,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
           const CUDA_MEMCPY3D_v2* params, CUcontext),
          add_memcpy({out, graph, dependencies, count}, params))
VGSIM_API(cuGraphAddHostNode,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
           const CUDA_HOST_NODE_PARAMS_v1* params),
          add_host({out, graph, dependencies, count}, params))
VGSIM_API(cuGraphAddChildGraphNode,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, CUgraph child),
          add_child({out, graph, dependencies, count}, child))
VGSIM_API(cuGraphAddNode,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
           CUgraphNodeParams* params),
          add_any({out, graph, dependencies, count}, params))
VGSIM_API(cuGraphAddNode_v2,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData*, std::size_t count,
           CUgraphNodeParams* params),
          add_any({out, graph, dependencies, count}, params))
