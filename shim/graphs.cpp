// Graphs with allocation nodes: nothing is taken until the first launch or upload, and then it stays, also when the
// graph is gone, until the device's graph memory is trimmed.
#include <span>

#include "shim/graph_demands.h"
#include "shim/guarded_call.h"
#include "shim/streams.h"

namespace vramguard::entry {

namespace {

GraphExecHandle number_of(CUgraphExec exec) { return reinterpret_cast<GraphExecHandle>(exec); }

GraphBacking backing_on(const Guard& guard, CUstream stream) {
  return {reinterpret_cast<std::uint64_t>(stream), guard.graph_trims()};
}

// Admits the demand of each device in turn and then makes `call`. Where the sum of the nodes does not fit, though what
// they really need might, `upload` takes the memory without running anything; too much is trimmed again and refused.
template <typename Upload, typename Call>
CUresult admit(Guard& guard, const char* api, std::span<const GraphDemand> demands, const Upload& upload,
               const Call& call) {
  if (demands.empty()) return call();
  const auto rest = [&] { return admit(guard, api, demands.subspan(1), upload, call); };
  const GraphDemand& demand = demands.front();
  GuardedDevice* device = guard.device(demand.device);
  if (device == nullptr) return rest();

  device->graphs_used.store(true, std::memory_order_relaxed);
  bool trial = false;
  const auto reserve = [&](Ledger& memory) {
    std::optional<Reservation> reservation = memory.reserve(demand.most);
    trial = !reservation;
    return trial ? memory.reserve_trial(0) : std::move(reservation);
  };
  const CUresult result = guarded_call(
      guard, *device, {api, demand.most}, reserve, [&] { return trial ? upload() : rest(); },
      [&](Reservation& reservation) {
        if (trial) guard.read_graphs(*device);
        if (trial && device->memory.over_budget()) {
          guard.trim(*device);
          return false;
        }
        device->memory.settle_bound(reservation, BoundedHolder::Graphs);
        guard.read_graphs(*device);
        return true;
      });
  return trial && result == CUDA_SUCCESS ? rest() : result;
}

// `call` launches or uploads.
template <typename Call>
CUresult guarded_launch(const char* api, const StreamForm& form, CUgraphExec exec, CUstream stream, Call&& call) {
  Guard* guard = vramguard::guard();
  if (guard == nullptr || !guard->memory_nodes_seen()) return call();
  const GraphBacking backing = backing_on(*guard, stream);
  std::vector<GraphDemand> demands;
  if (!guard->graphs().demands(number_of(exec), backing, demands)) {
    guard->guard_failed("graph", "no memory to look a graph up; what it takes is counted afterwards");
  }
  // A launch on a capturing stream becomes a node.
  if (demands.empty() || (guard->captures_seen() && is_capturing(form, stream))) return call();
  const auto upload = [&] {
    const RelaxedCapture relaxed;
    return forward(&DriverFunctions::cuGraphUpload, exec, stream);
  };
  const CUresult result = admit(*guard, api, demands, upload, call);
  if (result == CUDA_SUCCESS) guard->graphs().backed(number_of(exec), backing);
  return result;
}

std::vector<GraphDemand> demands_in(Guard& guard, CUgraph graph) {
  if (!guard.memory_nodes_seen() || graph == nullptr) return {};
  std::optional<std::vector<GraphDemand>> demands = demands_of(graph);
  if (demands) return std::move(*demands);
  guard.guard_failed("graph", "no memory to look a graph through; what it takes is counted afterwards");
  return {};
}

void note(Guard& guard, CUgraphExec exec, std::vector<GraphDemand> demands) {
  if (guard.graphs().set(number_of(exec), std::move(demands))) return;
  guard.guard_failed("graph", "no memory to note a graph; what it takes is counted afterwards");
}

CUresult instantiated(CUresult result, const CUgraphExec* exec, CUgraph graph) {
  Guard* guard = vramguard::guard();
  if (result == CUDA_SUCCESS && guard != nullptr && guard->memory_nodes_seen()) {
    note(*guard, *exec, demands_in(*guard, graph));
  }
  return result;
}

// With the upload flag the memory is taken by the instantiation itself.
CUresult instantiate_with_params(const char* api,
                                 CUresult (*DriverFunctions::*function)(CUgraphExec*, CUgraph,
                                                                        CUDA_GRAPH_INSTANTIATE_PARAMS*),
                                 CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  Guard* guard = vramguard::guard();
  const bool uploads = params != nullptr && (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0;
  const auto call = [&] { return forward(function, exec, graph, params); };
  if (guard == nullptr || exec == nullptr || !uploads) return instantiated(call(), exec, graph);

  std::vector<GraphDemand> demands = demands_in(*guard, graph);
  const GraphBacking backing = backing_on(*guard, params->hUploadStream);
  const auto cannot_try = [] { return CUDA_ERROR_OUT_OF_MEMORY; };
  const CUresult result = admit(*guard, api, demands, cannot_try, call);
  if (result != CUDA_SUCCESS) return result;
  note(*guard, *exec, std::move(demands));
  guard->graphs().backed(number_of(*exec), backing);
  return result;
}

CUresult node_added(CUresult result, bool allocates) {
  Guard* guard = vramguard::guard();
  if (result == CUDA_SUCCESS && allocates && guard != nullptr) guard->memory_node_added();
  return result;
}

bool allocates(const CUgraphNodeParams* params) {
  return params != nullptr && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
}

}  // namespace

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return node_added(forward(&DriverFunctions::cuGraphAddMemAllocNode, node, graph, dependencies, count, params), true);
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                        CUgraphNodeParams* params) {
  return node_added(forward(&DriverFunctions::cuGraphAddNode, node, graph, dependencies, count, params),
                    allocates(params));
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
  return node_added(forward(&DriverFunctions::cuGraphAddNode_v2, node, graph, dependencies, edges, count, params),
                    allocates(params));
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  return instantiated(forward(&DriverFunctions::cuGraphInstantiate, exec, graph, error_node, log, log_bytes), exec,
                      graph);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  return instantiated(forward(&DriverFunctions::cuGraphInstantiate_v2, exec, graph, error_node, log, log_bytes), exec,
                      graph);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return instantiated(forward(&DriverFunctions::cuGraphInstantiateWithFlags, exec, graph, flags), exec, graph);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return instantiate_with_params("cuGraphInstantiateWithParams", &DriverFunctions::cuGraphInstantiateWithParams, exec,
                                 graph, params);
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return instantiate_with_params("cuGraphInstantiateWithParams_ptsz",
                                 &DriverFunctions::cuGraphInstantiateWithParams_ptsz, exec, graph, params);
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  Guard* guard = vramguard::guard();
  if (guard == nullptr || !guard->memory_nodes_seen()) return forward(&DriverFunctions::cuGraphExecDestroy, exec);
  std::vector<GraphDemand> demands = guard->graphs().take(number_of(exec));
  const CUresult result = forward(&DriverFunctions::cuGraphExecDestroy, exec);
  if (result != CUDA_SUCCESS && !demands.empty()) note(*guard, exec, std::move(demands));
  return result;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return guarded_launch("cuGraphUpload", kLegacyStreams, exec, stream,
                        [=] { return forward(&DriverFunctions::cuGraphUpload, exec, stream); });
}

CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
  return guarded_launch("cuGraphUpload_ptsz", kPerThreadStreams, exec, stream,
                        [=] { return forward(&DriverFunctions::cuGraphUpload_ptsz, exec, stream); });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return guarded_launch("cuGraphLaunch", kLegacyStreams, exec, stream,
                        [=] { return forward(&DriverFunctions::cuGraphLaunch, exec, stream); });
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return guarded_launch("cuGraphLaunch_ptsz", kPerThreadStreams, exec, stream,
                        [=] { return forward(&DriverFunctions::cuGraphLaunch_ptsz, exec, stream); });
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  const CUresult result = forward(&DriverFunctions::cuDeviceGraphMemTrim, ordinal);
  Guard* guard = vramguard::guard();
  GuardedDevice* device = guard != nullptr ? guard->device(ordinal) : nullptr;
  if (result == CUDA_SUCCESS && device != nullptr) guard->graphs_trimmed(*device);
  return result;
}

}  // namespace vramguard::entry
