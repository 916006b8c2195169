#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

#include "tests/sim_driver/tests/array_fixture.h"
#include "tests/sim_driver/tests/graph_fixture.h"

namespace {

// A copy of a box of bytes from host memory into an array.
CUDA_MEMCPY3D_v2 into_array(const std::vector<unsigned char>& from, CUarray to, std::size_t width, std::size_t height,
                            std::size_t depth) {
  CUDA_MEMCPY3D_v2 copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from.data();
  copy.srcPitch = width;
  copy.srcHeight = height;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = to;
  copy.WidthInBytes = width;
  copy.Height = height;
  copy.Depth = depth;
  return copy;
}

}  // namespace

TEST_CASE("copies into an array stay inside it") {
  const InContext here;
  const CUarray array = make(shape(10, 5, 3));
  const std::vector<unsigned char> data(40 * 5 * 4);
  CUDA_MEMCPY3D_v2 copy = into_array(data, array, 40, 5, 3);
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_SUCCESS);
  CHECK(cuMemcpy3DAsync_v2(&copy, nullptr) == CUDA_SUCCESS);
  copy.dstXInBytes = 4;
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  copy = into_array(data, array, 40, 5, 4);
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  copy = into_array(data, array, 40, 5, 3);
  copy.dstY = 1;
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  copy = into_array(data, nullptr, 40, 5, 3);
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_HANDLE);
  copy = into_array(data, array, 40, 5, 3);
  copy.srcLOD = 1;
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY2D_v2 flat{};
  flat.srcMemoryType = CU_MEMORYTYPE_HOST;
  flat.srcHost = data.data();
  flat.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  flat.dstArray = array;
  flat.WidthInBytes = 40;
  flat.Height = 5;
  CHECK(cuMemcpy2D_v2(&flat) == CUDA_SUCCESS);
  flat.Height = 6;
  CHECK(cuMemcpy2D_v2(&flat) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
}

TEST_CASE("an array reads as zeros") {
  const InContext here;
  const CUarray array = make(shape(100, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8));
  std::vector<unsigned char> data(100, 7);
  const CUdeviceptr linear = here.alloc(100);
  CHECK(cuMemcpyHtoA_v2(array, 0, data.data(), 100) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoA_v2(array, 1, data.data(), 100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyAtoA_v2(array, 0, array, 50, 50) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoA_v2(array, 90, linear, 10) == CUDA_SUCCESS);
  CHECK(cuMemsetD8_v2(linear, 9, 100) == CUDA_SUCCESS);
  CHECK(cuMemcpyAtoD_v2(linear, array, 0, 50) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoH_v2(data.data(), linear, 100) == CUDA_SUCCESS);
  CHECK(data[49] == 0);
  CHECK(data[50] == 9);
  CHECK(cuMemcpyAtoHAsync_v2(data.data() + 50, array, 0, 50, nullptr) == CUDA_SUCCESS);
  CHECK(data[99] == 0);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
}

TEST_CASE("a deferred array is copied only with memory") {
  const InContext here;
  const CUmipmappedArray mipmap =
      make_mipmap(shape(100, 100, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_DEFERRED_MAPPING), 2);
  CUarray level = nullptr;
  REQUIRE(cuMipmappedArrayGetLevel(&level, mipmap, 1) == CUDA_SUCCESS);
  const unsigned char byte = 1;
  CHECK(cuMemcpyHtoA_v2(level, 0, &byte, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
}

TEST_CASE("boxes are copied with their pitches and heights") {
  const InContext here;
  const CUdeviceptr linear = here.alloc(1000);
  std::vector<unsigned char> data(2 * 3 * 4), back(1000);
  std::iota(data.begin(), data.end(), static_cast<unsigned char>(1));
  CHECK(cuMemsetD8_v2(linear, 0, 1000) == CUDA_SUCCESS);
  CUDA_MEMCPY3D_v2 copy = into_array(data, nullptr, 4, 3, 2);
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = linear;
  copy.dstPitch = 10;
  copy.dstHeight = 5;
  copy.dstXInBytes = 1;
  copy.dstY = 1;
  copy.dstZ = 1;
  REQUIRE(cuMemcpy3D_v2(&copy) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoH_v2(back.data(), linear, 1000) == CUDA_SUCCESS);
  for (std::size_t z = 0; z < 2; ++z) {
    for (std::size_t y = 0; y < 3; ++y) CHECK(back[((z + 1) * 5 + y + 1) * 10 + 1 + 3] == data[(z * 3 + y) * 4 + 3]);
  }
  CHECK(back[61 + 4] == 0);
  copy.dstHeight = 3;  // three rows from the second on need four
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D_PEER_v1 peer{};
  peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  peer.srcDevice = linear;
  peer.dstDevice = linear + 500;
  peer.srcPitch = peer.dstPitch = 10;
  peer.WidthInBytes = 10;
  peer.Height = 10;
  peer.Depth = 1;
  CHECK(cuMemcpy3DPeer(&peer) == CUDA_ERROR_INVALID_CONTEXT);
  peer.srcContext = peer.dstContext = here.context;
  CHECK(cuMemcpy3DPeer(&peer) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoH_v2(back.data(), linear, 1000) == CUDA_SUCCESS);
  CHECK(back[561] == back[61]);
  CHECK(back[561] == 1);
}

TEST_CASE("copies of arrays on a captured stream become nodes that the launch does") {
  const InContext here;
  const CUarray array = make(shape(4, 4));
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  std::vector<unsigned char> data(16 * 4, 7);
  CUDA_MEMCPY3D_v2 box = into_array(data, array, 16, 4, 1);
  CUDA_MEMCPY2D_v2 flat{};
  flat.srcMemoryType = CU_MEMORYTYPE_HOST;
  flat.srcHost = data.data();
  flat.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  flat.dstArray = array;
  flat.WidthInBytes = 16;
  flat.Height = 4;
  REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  CHECK(cuMemcpy3DAsync_v2(&box, stream) == CUDA_SUCCESS);
  CHECK(cuMemcpy2DAsync_v2(&flat, stream) == CUDA_SUCCESS);
  CHECK(cuMemcpyAtoHAsync_v2(data.data(), array, 0, 16, stream) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(types_of(graph) == std::vector<CUgraphNodeType>(3, CU_GRAPH_NODE_TYPE_MEMCPY));
  CHECK(edges_of(graph) == 2);
  CHECK(data[0] == 7);
  const Exec exec(graph);
  CHECK(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
  CHECK(data[15] == 0);
  CHECK(data[16] == 7);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("a node of a graph copies an array") {
  const InContext here;
  const CUarray array = make(shape(4, 4));
  std::vector<unsigned char> data(16 * 4, 7);
  CUDA_MEMCPY3D_v2 copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = data.data();
  copy.dstPitch = 16;
  copy.WidthInBytes = 8;
  copy.Height = 4;
  copy.Depth = 1;
  const Graph graph;
  CUgraphNode node = nullptr;
  REQUIRE(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, here.context) == CUDA_SUCCESS);
  copy.srcLOD = 1;
  CHECK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, here.context) == CUDA_ERROR_INVALID_VALUE);
  const Exec exec(graph);
  CHECK(cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
  CHECK(data[48] == 0);
  CHECK(data[55] == 0);
  CHECK(data[56] == 7);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
}
