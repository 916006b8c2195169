#include <catch2/catch.hpp>

#include "tests/sim_driver/tests/array_fixture.h"
#include "tests/sim_driver/tests/vmm_fixture.h"

namespace {

CUarrayMapInfo_v1 map_info(CUarray array, CUmemGenericAllocationHandle handle) {
  CUarrayMapInfo_v1 info{};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  info.memOperationType = handle ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
  info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  info.memHandle.memHandle = handle;
  info.deviceBitMask = 1;
  return info;
}

CUmemGenericAllocationHandle create_tiles(std::size_t bytes) {
  CUmemAllocationProp prop = device_memory();
  prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  return create(bytes, prop);
}

}  // namespace

TEST_CASE("a deferred array holds the memory that is mapped for it") {
  const InContext here;
  const CUarray array = make(shape(1000, 1000, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING));
  const auto handle = create(4 * kMiB), too_small = create(2 * kMiB);
  CUarrayMapInfo_v1 info = map_info(array, too_small);
  CHECK(cuMemMapArrayAsync(&info, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRelease(too_small) == CUDA_SUCCESS);
  info = map_info(array, handle);
  info.deviceBitMask = 2;
  CHECK(cuMemMapArrayAsync(&info, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
  info.deviceBitMask = 1;
  info.offset = kMiB;
  CHECK(cuMemMapArrayAsync(&info, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
  info.offset = 0;
  CHECK(cuMemMapArrayAsync(&info, 1, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 4 * kMiB);
  info = map_info(array, 0);
  CHECK(cuMemMapArrayAsync_ptsz(&info, 1, nullptr) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
}

TEST_CASE("the end of an array or of its context lets its memory go") {
  const InContext outer;
  {
    const InContext here;
    for (int i = 0; i < 2; ++i) {
      const CUarray array = make(shape(100, 100, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING));
      const auto handle = create(2 * kMiB);
      const CUarrayMapInfo_v1 wanted = map_info(array, handle);
      CUarrayMapInfo_v1 info = wanted;
      CHECK(cuMemMapArrayAsync(&info, 1, nullptr) == CUDA_SUCCESS);
      CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
      CHECK(here.taken() == 2 * kMiB);
      if (i == 0) CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
      if (i == 0) CHECK(here.taken() == 0);
    }
  }
  CHECK(outer.taken() == 0);
}

TEST_CASE("parts of a sparse array hold memory of tiles each") {
  const InContext here;
  const CUmipmappedArray mipmap =
      make_mipmap(shape(1024, 1024, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_SPARSE), 11);
  CUDA_ARRAY_SPARSE_PROPERTIES_v1 properties{};
  CHECK(cuMipmappedArrayGetSparseProperties(&properties, mipmap) == CUDA_SUCCESS);
  CHECK(properties.tileExtent.width == 128);
  CHECK(properties.tileExtent.height == 128);
  CHECK(properties.tileExtent.depth == 1);
  CHECK(properties.miptailFirstLevel == 4);
  CHECK(properties.miptailSize == 64 * 1024);
  const auto tiles = create_tiles(2 * kMiB), tail = create_tiles(2 * kMiB), no_tiles = create(2 * kMiB);
  CUarrayMapInfo_v1 infos[2] = {map_info(nullptr, tiles), map_info(nullptr, tail)};
  for (CUarrayMapInfo_v1& info : infos) {
    info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    info.resource.mipmap = mipmap;
  }
  infos[0].subresource.sparseLevel = {1, 0, 128, 0, 0, 128, 128, 1};
  infos[1].subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  infos[1].subresource.miptail = {0, 0, 64 * 1024};
  infos[1].memHandle.memHandle = no_tiles;
  CHECK(cuMemMapArrayAsync(infos, 2, nullptr) == CUDA_ERROR_INVALID_VALUE);
  infos[1].memHandle.memHandle = tail;
  CHECK(cuMemMapArrayAsync(infos, 2, nullptr) == CUDA_SUCCESS);
  for (const auto handle : {tiles, tail, no_tiles}) CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 2 * kPage);
  infos[0].memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  CHECK(cuMemMapArrayAsync(infos, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);  // with a handle
  infos[0].memHandle.memHandle = 0;
  CHECK(cuMemMapArrayAsync(infos, 1, nullptr) == CUDA_SUCCESS);
  CHECK(here.taken() == kPage);
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("only arrays without memory of their own take some") {
  const InContext here;
  const CUarray array = make(shape(100, 100));
  const auto handle = create(2 * kMiB);
  CUarrayMapInfo_v1 info = map_info(array, handle);
  CHECK(cuMemMapArrayAsync(&info, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMapArrayAsync(nullptr, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
  info.resource.array = nullptr;
  CHECK(cuMemMapArrayAsync(&info, 1, nullptr) == CUDA_ERROR_INVALID_HANDLE);
  CUDA_ARRAY_SPARSE_PROPERTIES_v1 properties{};
  CHECK(cuArrayGetSparseProperties(&properties, array) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
}

TEST_CASE("tiles have the standard extents, and a small sparse array is all tail") {
  const InContext here;
  struct Expected {
    CUarray_format format;
    unsigned int channels;
    std::size_t depth;
    unsigned int width, height, tile_depth;
  };
  for (const Expected& one :
       {Expected{CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, 256, 256, 1}, Expected{CU_AD_FORMAT_HALF, 1, 0, 256, 128, 1},
        Expected{CU_AD_FORMAT_FLOAT, 1, 0, 128, 128, 1}, Expected{CU_AD_FORMAT_FLOAT, 2, 0, 128, 64, 1},
        Expected{CU_AD_FORMAT_FLOAT, 4, 0, 64, 64, 1}, Expected{CU_AD_FORMAT_UNSIGNED_INT8, 1, 512, 64, 32, 32},
        Expected{CU_AD_FORMAT_HALF, 1, 512, 32, 32, 32}, Expected{CU_AD_FORMAT_FLOAT, 1, 512, 32, 32, 16},
        Expected{CU_AD_FORMAT_FLOAT, 2, 512, 32, 16, 16}, Expected{CU_AD_FORMAT_FLOAT, 4, 512, 16, 16, 16}}) {
    const CUarray array = make(shape(512, 512, one.depth, one.format, one.channels, CUDA_ARRAY3D_SPARSE));
    CUDA_ARRAY_SPARSE_PROPERTIES_v1 properties{};
    CHECK(cuArrayGetSparseProperties(&properties, array) == CUDA_SUCCESS);
    CHECK(properties.tileExtent.width == one.width);
    CHECK(properties.tileExtent.height == one.height);
    CHECK(properties.tileExtent.depth == one.tile_depth);
    CHECK(properties.flags == 0);
    CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
  }
  const CUarray small = make(shape(100, 100, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE));
  CUDA_ARRAY_SPARSE_PROPERTIES_v1 properties{};
  CHECK(cuArrayGetSparseProperties(&properties, small) == CUDA_SUCCESS);
  CHECK(properties.flags == CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL);
  CHECK(properties.miptailSize == 64 * 1024);
  CHECK(cuArrayDestroy(small) == CUDA_SUCCESS);
}

TEST_CASE("memory is not mapped for an array on a captured stream") {
  const InContext here;
  const CUarray array = make(shape(100, 100, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING));
  const auto handle = create(2 * kMiB);
  CUarrayMapInfo_v1 info = map_info(array, handle);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  CHECK(cuMemMapArrayAsync(&info, 1, stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
}
