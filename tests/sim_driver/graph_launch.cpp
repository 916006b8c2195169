#include <unordered_map>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/graph_exec.h"

namespace vgsim {
namespace {

constexpr unsigned long long kAllFlags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

std::unordered_map<const void*, std::shared_ptr<GraphExec>>& execs() {
  static auto* const all = new std::unordered_map<const void*, std::shared_ptr<GraphExec>>;
  return *all;
}

CUresult instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags, CUgraphInstantiateResult& why) {
  why = CUDA_GRAPH_INSTANTIATE_ERROR;
  Graph* graph = find_graph(handle);
  if (!out || !graph || (flags & ~kAllFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  // A graph with memory nodes has one instance at a time.
  if (graph->has_memory_nodes() && !graph->exec.expired()) return CUDA_ERROR_NOT_SUPPORTED;
  auto exec = std::make_shared<GraphExec>();
  exec->plan = make_plan(*graph);
  exec->flags = flags;
  if (!exec->plan) {
    why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (graph->has_memory_nodes()) {
    exec->addresses = graph->addresses();
    graph->exec = exec;
  }
  why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  *out = reinterpret_cast<CUgraphExec>(exec.get());
  execs().emplace(exec.get(), std::move(exec));
  return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags) {
  CUgraphInstantiateResult why{};
  return instantiate(out, handle, flags, why);
}

CUresult instantiate_and_explain(CUgraphExec* out, CUgraph handle, CUgraphNode* error_node, char* log,
                                 std::size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes != 0) *log = '\0';
  return instantiate(out, handle, 0);
}

CUresult destroy(CUgraphExec handle) { return execs().erase(handle) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

CUresult instantiate_with(CUgraphExec* out, CUgraph handle, CUDA_GRAPH_INSTANTIATE_PARAMS* params,
                          bool per_thread_kind) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  params->hErrNode_out = nullptr;
  const CUresult made = instantiate(out, handle, params->flags, params->result_out);
  if (made != CUDA_SUCCESS || (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) == 0) return made;
  const CUstream stream = per_thread_kind ? per_thread(params->hUploadStream) : params->hUploadStream;
  const CUresult uploaded = upload_graph(*find_exec(*out), stream);
  if (uploaded == CUDA_SUCCESS) return CUDA_SUCCESS;
  destroy(*out);
  params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  return uploaded;
}

CUresult upload(CUgraphExec handle, CUstream stream) {
  const auto exec = find_exec(handle);
  return exec ? upload_graph(*exec, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult get_flags(CUgraphExec handle, cuuint64_t* out) {
  const auto exec = find_exec(handle);
  if (!exec || !out) return CUDA_ERROR_INVALID_VALUE;
  *out = exec->flags;
  return CUDA_SUCCESS;
}

// How the first node that differs does.
CUgraphExecUpdateResult compare(const Graph& old, const Graph& graph, GraphNode*& differs) {
  if (old.nodes().size() != graph.nodes().size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t i = 0; i < old.nodes().size(); ++i) {
    const GraphNode& before = *old.nodes()[i];
    GraphNode& after = *graph.nodes()[i];
    differs = &after;
    if (before.type != after.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (before.dependencies.size() != after.dependencies.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (std::size_t k = 0; k < before.dependencies.size(); ++k)
      if (before.dependencies[k]->index != after.dependencies[k]->index)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (before.content.alloc.dptr != after.content.alloc.dptr || before.content.freed != after.content.freed)
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  }
  differs = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResult& why, GraphNode*& differs) {
  const auto exec = find_exec(handle);
  const Graph* graph = find_graph(graph_handle);
  why = CU_GRAPH_EXEC_UPDATE_ERROR;
  if (!exec || !graph) return CUDA_ERROR_INVALID_VALUE;
  why = compare(*exec->plan->copy, *graph, differs);
  if (why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  auto plan = make_plan(*graph);
  if (!plan) return CUDA_ERROR_INVALID_VALUE;
  exec->plan = std::move(plan);
  return CUDA_SUCCESS;
}

CUresult update_v1(CUgraphExec handle, CUgraph graph, CUgraphNode* error_node, CUgraphExecUpdateResult* out) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  GraphNode* differs = nullptr;
  const CUresult result = update(handle, graph, *out, differs);
  if (error_node) *error_node = handle_of(differs);
  return result;
}

CUresult update_v2(CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResultInfo* out) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  GraphNode* differs = nullptr;
  const CUresult result = update(handle, graph, out->result, differs);
  out->errorNode = handle_of(differs);
  out->errorFromNode = nullptr;
  return result;
}

}  // namespace

std::shared_ptr<GraphExec> find_exec(CUgraphExec handle) {
  const auto found = execs().find(handle);
  return found == execs().end() ? nullptr : found->second;
}

}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuGraphInstantiate,
          (CUgraphExec * out, CUgraph graph, CUgraphNode* error_node, char* log, std::size_t log_bytes),
          instantiate_and_explain(out, graph, error_node, log, log_bytes))
VGSIM_API(cuGraphInstantiate_v2,
          (CUgraphExec * out, CUgraph graph, CUgraphNode* error_node, char* log, std::size_t log_bytes),
          instantiate_and_explain(out, graph, error_node, log, log_bytes))
VGSIM_API(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph graph, unsigned long long flags),
          instantiate(out, graph, flags))
VGSIM_API(cuGraphInstantiateWithParams, (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params),
          instantiate_with(out, graph, params, false))
VGSIM_API(cuGraphInstantiateWithParams_ptsz, (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params),
          instantiate_with(out, graph, params, true))
VGSIM_API(cuGraphExecDestroy, (CUgraphExec exec), destroy(exec))
VGSIM_API(cuGraphExecGetFlags, (CUgraphExec exec, cuuint64_t* out), get_flags(exec, out))
VGSIM_API(cuGraphExecUpdate, (CUgraphExec exec, CUgraph graph, CUgraphNode* error_node, CUgraphExecUpdateResult* out),
          update_v1(exec, graph, error_node, out))
VGSIM_API(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* out),
          update_v2(exec, graph, out))
VGSIM_API(cuGraphUpload, (CUgraphExec exec, CUstream stream), upload(exec, stream))
VGSIM_API(cuGraphUpload_ptsz, (CUgraphExec exec, CUstream stream), upload(exec, per_thread(stream)))
VGSIM_API_UNLOCKED(cuGraphLaunch, (CUgraphExec exec, CUstream stream), launch_graph(exec, stream))
VGSIM_API_UNLOCKED(cuGraphLaunch_ptsz, (CUgraphExec exec, CUstream stream), launch_graph(exec, per_thread(stream)))
