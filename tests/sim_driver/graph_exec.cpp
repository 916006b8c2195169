#include "tests/sim_driver/graph_exec.h"

#include <thread>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"

namespace vgsim {
namespace {

constexpr unsigned long long kAutoFree = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;

// The nodes of child graphs take the place of their node. False where there is a circle.
bool add_in_order(const Graph& graph, std::vector<const GraphNode*>& order) {
  const auto nodes = graph.in_order();
  if (nodes.size() != graph.nodes().size()) return false;
  for (const GraphNode* node : nodes) {
    if (!node->content.child)
      order.push_back(node);
    else if (!add_in_order(*node->content.child, order))
      return false;
  }
  return true;
}

// Streams have ids of their own; a default stream has its context's.
std::uint64_t id_of(CUstream stream, const Context& context) {
  const Stream* found = handles().streams.find(stream);
  return found ? found->id : context.id;
}

void run_node(const GraphNode& node, GraphAddresses* addresses) {
  const NodeContent& content = node.content;
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    addresses->begin_allocation(content.alloc.dptr, content.alloc.bytesize,
                                *find_device(content.alloc.poolProps.location.id));
  } else if (node.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    const auto live = driver().allocations.find(content.freed);
    if (live != driver().allocations.end()) end_allocation(live);
  } else if (content.work) {
    content.work();
  }
}

struct Launch {
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<const GraphPlan> plan;
  std::uint64_t stream_id = 0;
};

// A launch into a captured stream becomes a child graph, which must not have memory nodes.
CUresult capture_launch(CaptureSeat& seat, const Launch& launch, CUstream stream) {
  if (launch.exec->addresses) return *refuse_capture(stream);
  NodeContent content;
  content.child = launch.plan->copy->clone();
  return add_captured_node(seat, CU_GRAPH_NODE_TYPE_GRAPH, std::move(content));
}

CUresult start(CUgraphExec handle, CUstream stream, Launch& launch, bool& captured) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  launch.exec = find_exec(handle);
  if (!launch.exec) return CUDA_ERROR_INVALID_VALUE;
  launch.plan = launch.exec->plan;
  launch.stream_id = id_of(stream, *context);
  if (CaptureSeat* seat = captured_seat(stream)) {
    captured = true;
    return capture_launch(*seat, launch, stream);
  }
  if (const auto refused = legacy_refusal(stream)) return *refused;
  return CUDA_SUCCESS;
}

CUresult take_memory(const Launch& launch) {
  GraphAddresses* addresses = launch.exec->addresses.get();
  if (!addresses) return CUDA_SUCCESS;
  if (addresses->live() != 0) {
    if ((launch.exec->flags & kAutoFree) == 0) return CUDA_ERROR_INVALID_VALUE;
    addresses->free_all();
  }
  return addresses->start(launch.stream_id) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult run(const Launch& launch) {
  const std::lock_guard<std::mutex> one_at_a_time(launch.exec->launching);
  {
    const DriverLock lock(true);
    if (const CUresult result = take_memory(launch); result != CUDA_SUCCESS) return result;
  }
  for (const GraphNode* node : launch.plan->order) {
    if (node->content.host) {
      std::thread(node->content.host, node->content.host_data).join();  // never in the launching thread
      continue;
    }
    const DriverLock lock(true);
    run_node(*node, launch.exec->addresses.get());
  }
  const DriverLock lock(true);
  if (launch.exec->addresses) launch.exec->addresses->finish(launch.stream_id);
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<const GraphPlan> make_plan(const Graph& graph) {
  auto plan = std::make_shared<GraphPlan>();
  plan->copy = graph.clone();
  if (!add_in_order(*plan->copy, plan->order)) return nullptr;
  return plan;
}

CUresult launch_graph(CUgraphExec handle, CUstream stream) {
  Launch launch;
  bool captured = false;
  CUresult result = CUDA_SUCCESS;
  {
    const DriverLock lock(true);
    result = start(handle, stream, launch, captured);
  }
  if (result == CUDA_SUCCESS && !captured) result = run(launch);
  // What only this launch still holds goes while the driver is locked.
  const DriverLock lock(true);
  launch = {};
  return result;
}

CUresult upload_graph(GraphExec& exec, CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (const auto refused = refuse_capture(stream)) return *refused;
  // What the graph did not free holds its memory already.
  if (!exec.addresses || exec.addresses->live() != 0) return CUDA_SUCCESS;
  const std::uint64_t stream_id = id_of(stream, *context);
  if (!exec.addresses->start(stream_id)) return CUDA_ERROR_OUT_OF_MEMORY;
  exec.addresses->finish(stream_id);
  return CUDA_SUCCESS;
}

}  // namespace vgsim
