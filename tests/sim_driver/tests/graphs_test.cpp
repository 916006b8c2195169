#include <catch2/catch.hpp>

#include <string>

#include "tests/sim_driver/tests/graph_fixture.h"

TEST_CASE("a graph lists its nodes, roots and edges") {
  const InContext here;
  const Graph graph;
  const CUgraphNode first = graph.empty(), second = graph.empty(), last = graph.empty({first, second});
  CUgraphNode nodes[4] = {last, last, last, last};
  std::size_t count = 4;
  CHECK(cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS);
  CHECK(count == 3);
  CHECK(nodes[0] == first);
  CHECK(nodes[3] == nullptr);
  count = 0;
  CHECK(cuGraphGetRootNodes(graph, nullptr, &count) == CUDA_SUCCESS);
  CHECK(count == 2);
  CUgraphNode from[1], to[1];
  CUgraphEdgeData data[1];
  count = 1;
  CHECK(cuGraphGetEdges_v2(graph, from, to, data, &count) == CUDA_SUCCESS);
  CHECK(count == 1);
  CHECK(from[0] == first);
  CHECK(to[0] == last);
  CHECK(edges_of(graph) == 2);
}

TEST_CASE("dependencies are added once, between nodes of the graph") {
  const InContext here;
  const Graph graph, other;
  const CUgraphNode first = graph.empty(), second = graph.empty(), foreign = other.empty();
  CHECK(cuGraphAddDependencies(graph, &first, &second, 1) == CUDA_SUCCESS);
  CHECK(cuGraphAddDependencies_v2(graph, &first, &second, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddDependencies_v2(graph, &first, &first, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddDependencies_v2(graph, &first, &foreign, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(edges_of(graph) == 1);
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddEmptyNode(&node, graph, &foreign, 1) == CUDA_ERROR_INVALID_VALUE);
  // A circle is found when the graph is instantiated.
  CHECK(cuGraphAddDependencies_v2(graph, &second, &first, nullptr, 1) == CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_ERROR_INVALID_VALUE);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  CHECK(cuGraphInstantiateWithParams(&exec, graph, &params) == CUDA_ERROR_INVALID_VALUE);
  CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
}

namespace {

// A graph that sets 16 bytes to 5, copies them to the host and then calls a function.
struct Working {
  Graph graph;
  unsigned char seen[16] = {};
  int calls = 0;
  int seen_at_call = -1;

  Working(CUdeviceptr memory, CUcontext context, bool by_any_node) {
    CUDA_MEMSET_NODE_PARAMS_v1 set{memory, 0, 5, 1, 16, 1};
    CUDA_MEMCPY3D_v2 copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = memory;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = seen;
    copy.WidthInBytes = 16;
    copy.Height = copy.Depth = 1;
    CUDA_HOST_NODE_PARAMS_v1 host{&Working::call, this};
    CUgraphNode a = nullptr, b = nullptr, c = nullptr;
    if (!by_any_node) {
      REQUIRE(cuGraphAddMemsetNode(&a, graph, nullptr, 0, &set, context) == CUDA_SUCCESS);
      REQUIRE(cuGraphAddMemcpyNode(&b, graph, &a, 1, &copy, context) == CUDA_SUCCESS);
      REQUIRE(cuGraphAddHostNode(&c, graph, &b, 1, &host) == CUDA_SUCCESS);
      return;
    }
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    params.memset = {memory, 0, 5, 1, 16, 1, context};
    REQUIRE(cuGraphAddNode(&a, graph, nullptr, 0, &params) == CUDA_SUCCESS);
    params = {};
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    params.memcpy.copyParams = copy;
    REQUIRE(cuGraphAddNode_v2(&b, graph, &a, nullptr, 1, &params) == CUDA_SUCCESS);
    params = {};
    params.type = CU_GRAPH_NODE_TYPE_HOST;
    params.host = host;
    REQUIRE(cuGraphAddNode_v2(&c, graph, &b, nullptr, 1, &params) == CUDA_SUCCESS);
  }

  static void call(void* data) {
    auto* self = static_cast<Working*>(data);
    ++self->calls;
    self->seen_at_call = self->seen[15];
    std::size_t free = 0;
    cuMemGetInfo_v2(&free, nullptr);  // the driver is not locked
  }
};

}  // namespace

TEST_CASE("a launch does what the nodes say, after what they depend on") {
  const InContext here;
  Working working(here.alloc(16), here.context, GENERATE(false, true));
  const Exec exec(working.graph);
  CHECK(working.calls == 0);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch_ptsz(exec, nullptr) == CUDA_SUCCESS);
  CHECK(working.calls == 2);
  CHECK(working.seen_at_call == 5);
}

TEST_CASE("a launch follows dependencies, not the order in which nodes were added") {
  const InContext here;
  const Graph graph;
  struct Letter {
    std::string* text;
    char letter;
  };
  std::string text;
  Letter letters[] = {{&text, 'd'}, {&text, 'b'}, {&text, 'a'}, {&text, 'c'}};
  CUgraphNode nodes[4] = {};
  for (int i = 0; i < 4; ++i) {
    CUDA_HOST_NODE_PARAMS_v1 host{[](void* data) {
                                    const auto* letter = static_cast<const Letter*>(data);
                                    *letter->text += letter->letter;
                                  },
                                  &letters[i]};
    REQUIRE(cuGraphAddHostNode(&nodes[i], graph, nullptr, 0, &host) == CUDA_SUCCESS);
  }
  const CUgraphNode from[] = {nodes[2], nodes[2], nodes[1], nodes[1], nodes[3]};
  const CUgraphNode to[] = {nodes[1], nodes[0], nodes[0], nodes[3], nodes[0]};
  REQUIRE(cuGraphAddDependencies(graph, from, to, 5) == CUDA_SUCCESS);
  const Exec exec(graph);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(text == "abcd");
}

TEST_CASE("an instance does not need its graph, and a clone is a graph of its own") {
  const InContext here;
  Working working(here.alloc(16), here.context, false);
  CUgraph clone = nullptr;
  REQUIRE(cuGraphClone(&clone, working.graph) == CUDA_SUCCESS);
  const Exec exec(working.graph);
  CHECK(cuGraphDestroy(working.graph) == CUDA_SUCCESS);
  CHECK(cuGraphDestroy(working.graph) == CUDA_ERROR_INVALID_VALUE);
  working.graph.handle = nullptr;
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(working.calls == 1);
  CHECK(edges_of(clone) == 2);
  const Exec of_clone(clone);
  CHECK(cuGraphLaunch(of_clone, nullptr) == CUDA_SUCCESS);
  CHECK(working.calls == 2);
  CHECK(cuGraphDestroy(clone) == CUDA_SUCCESS);
}

TEST_CASE("a child graph is copied into its node and launched with it") {
  const InContext here;
  Working child(here.alloc(16), here.context, false);
  const Graph parent;
  CUgraphNode node = nullptr;
  REQUIRE(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, child.graph) == CUDA_SUCCESS);
  CHECK(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, parent) == CUDA_ERROR_INVALID_VALUE);
  CUgraph inside = nullptr;
  CHECK(cuGraphChildGraphNodeGetGraph(node, &inside) == CUDA_SUCCESS);
  CHECK(inside != child.graph.handle);
  CHECK(types_of(inside).size() == 3);
  CHECK(cuGraphDestroy(inside) == CUDA_ERROR_INVALID_VALUE);
  // A clone has child graphs of its own.
  CUgraph clone = nullptr;
  CUgraphNode node_of_clone = nullptr, more = nullptr;
  std::size_t count = 1;
  REQUIRE(cuGraphClone(&clone, parent) == CUDA_SUCCESS);
  REQUIRE(cuGraphGetNodes(clone, &node_of_clone, &count) == CUDA_SUCCESS);
  CHECK(cuGraphAddEmptyNode(&more, inside, nullptr, 0) == CUDA_SUCCESS);
  CUgraph inside_clone = nullptr;
  CHECK(cuGraphChildGraphNodeGetGraph(node_of_clone, &inside_clone) == CUDA_SUCCESS);
  CHECK(types_of(inside_clone).size() == 3);
  CHECK(cuGraphDestroy(clone) == CUDA_SUCCESS);
  const Exec exec(parent);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(child.calls == 1);
}

TEST_CASE("a launch into a captured stream becomes a child graph") {
  const InContext here;
  Working working(here.alloc(16), here.context, false);
  const Exec exec(working.graph);
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(working.calls == 0);
  CHECK(types_of(graph) == std::vector<CUgraphNodeType>{CU_GRAPH_NODE_TYPE_GRAPH});
  const Exec outer(graph);
  CHECK(cuGraphLaunch(outer, stream) == CUDA_SUCCESS);
  CHECK(working.calls == 1);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("kernel nodes are checked and do nothing") {
  const InContext here;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  REQUIRE(cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "kernel") == CUDA_SUCCESS);
  const Graph graph;
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS_v1 v1{function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr};
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &v1) == CUDA_SUCCESS);
  v1.gridDimX = 0;
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &v1) == CUDA_ERROR_INVALID_VALUE);
  CUDA_KERNEL_NODE_PARAMS_v2 v2{function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr, nullptr};
  CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &v2) == CUDA_SUCCESS);
  v2.func = nullptr;
  CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &v2) == CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  v2.func = function;
  any.kernel = v2;
  CHECK(cuGraphAddNode_v2(&node, graph, &node, nullptr, 1, &any) == CUDA_SUCCESS);
  any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  CHECK(cuGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &any) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(types_of(graph) == std::vector<CUgraphNodeType>(3, CU_GRAPH_NODE_TYPE_KERNEL));
}

TEST_CASE("an instance is updated from a graph of the same shape") {
  const InContext here;
  const CUdeviceptr memory = here.alloc(16);
  Working working(memory, here.context, false), same(memory, here.context, false);
  const Exec exec(working.graph);
  CUgraphExecUpdateResultInfo info{};
  CHECK(cuGraphExecUpdate_v2(exec, same.graph, &info) == CUDA_SUCCESS);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(working.calls == 0);
  CHECK(same.calls == 1);
  const Graph shorter;
  CHECK(cuGraphExecUpdate_v2(exec, shorter, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  const Graph other_types;
  other_types.empty({other_types.empty({other_types.empty()})});
  CUgraphExecUpdateResult result{};
  CUgraphNode differs = nullptr;
  CHECK(cuGraphExecUpdate(exec, other_types, &differs, &result) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  CHECK(differs != nullptr);
}

TEST_CASE("every form of instantiation makes an instance") {
  const InContext here;
  Working working(here.alloc(16), here.context, false);
  CUgraphExec exec = nullptr;
  CUgraphNode error_node = nullptr;
  char log[8] = "text";
  CHECK(cuGraphInstantiate(&exec, working.graph, &error_node, log, sizeof log) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CHECK(cuGraphExecDestroy(exec) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphInstantiate_v2(&exec, working.graph, &error_node, log, sizeof log) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  CHECK(cuGraphInstantiateWithParams_ptsz(&exec, working.graph, &params) == CUDA_SUCCESS);
  CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
  cuuint64_t flags = 0;
  CHECK(cuGraphExecGetFlags(exec, &flags) == CUDA_SUCCESS);
  CHECK(flags == CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CHECK(cuGraphInstantiateWithFlags(&exec, working.graph, 1ULL << 40) == CUDA_ERROR_INVALID_VALUE);
  CHECK(working.calls == 3);
}
