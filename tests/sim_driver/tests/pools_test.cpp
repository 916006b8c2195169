// How a pool grows, keeps and gives back.
#include <catch2/catch.hpp>

#include "tests/sim_driver/tests/pool_fixture.h"

TEST_CASE("devices say that they have pools") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  for (const auto attribute :
       {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
        CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED}) {
    int value = 0;
    CHECK(cuDeviceGetAttribute(&value, attribute, 0) == CUDA_SUCCESS);
    CHECK(value == 1);
  }
}

TEST_CASE("a pool grows by 32 MiB at a time, and the device has less at once") {
  const InContext here;
  const Pool pool;
  CHECK(here.taken() == 0);
  pool.alloc(1);
  CHECK(pool.reserved() == kChunk);
  CHECK(pool.used() == 1);
  CHECK(here.taken() == kChunk);
  // 100 MiB beside 31.99 MiB that are free: 96 MiB more.
  pool.alloc(100 * kMiB);
  CHECK(pool.reserved() == 4 * kChunk);
  CHECK(here.taken() == 4 * kChunk);
  const Pool other;
  other.alloc(100 * kMiB);
  CHECK(here.taken() == 8 * kChunk);
}

TEST_CASE("free memory goes back at the next synchronisation, whichever it is") {
  const InContext here;
  const Pool pool;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  const auto synchronise = GENERATE(0, 1, 2, 3, 4);
  REQUIRE(cuMemFreeAsync(pool.alloc(kChunk, stream), stream) == CUDA_SUCCESS);
  CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);
  CHECK(pool.used() == 0);
  CHECK(pool.reserved() == kChunk);
  CHECK(here.taken() == kChunk);
  if (synchronise == 0) CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  if (synchronise == 1) CHECK(cuStreamSynchronize_ptsz(stream) == CUDA_SUCCESS);
  if (synchronise == 2) CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  if (synchronise == 3) CHECK(cuCtxSynchronize_v2(here.context) == CUDA_SUCCESS);
  if (synchronise == 4) CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
  CHECK(pool.reserved() == 0);
  CHECK(here.taken() == 0);
}

TEST_CASE("a synchronisation leaves the chunks that something lies in") {
  const InContext here;
  const Pool pool;
  const CUdeviceptr first = pool.alloc(kChunk);
  const CUdeviceptr second = pool.alloc(kChunk);
  const CUdeviceptr third = pool.alloc(kChunk);
  CHECK(cuMemFreeAsync(second, nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(here.taken() == 2 * kChunk);
  // The hole is used again before the pool grows elsewhere.
  CHECK(pool.alloc(kChunk) == second);
  CHECK(cuMemFreeAsync(first, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(third, nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(here.taken() == kChunk);
}

TEST_CASE("up to the release threshold a pool keeps what is free until it is trimmed") {
  const InContext here;
  const Pool pool;
  pool.keep(2 * kChunk);
  CHECK(pool.get(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 2 * kChunk);
  REQUIRE(cuMemFreeAsync(pool.alloc(5 * kChunk), nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(here.taken() == 2 * kChunk);
  CHECK(cuMemPoolTrimTo(pool.handle, kChunk) == CUDA_SUCCESS);
  CHECK(here.taken() == kChunk);
  CHECK(cuMemPoolTrimTo(pool.handle, 0) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  // A lower threshold holds from the next synchronisation on.
  pool.keep(kKeepAll);
  REQUIRE(cuMemFreeAsync(pool.alloc(kChunk), nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  pool.keep(0);
  CHECK(here.taken() == kChunk);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("a trim gives back only what was freed before the last synchronisation") {
  const InContext here;
  const Pool pool;
  pool.keep(kKeepAll);
  const CUdeviceptr early = pool.alloc(kChunk);
  const CUdeviceptr late = pool.alloc(kChunk);
  CHECK(cuMemFreeAsync(early, nullptr) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(late, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolTrimTo(pool.handle, 0) == CUDA_SUCCESS);
  CHECK(here.taken() == kChunk);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolTrimTo(pool.handle, 0) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("a pool's figures have a highest mark that can be reset") {
  const InContext here;
  const Pool pool;
  CHECK(cuMemFreeAsync(pool.alloc(100), nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(pool.get(CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 100);
  CHECK(pool.get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == kChunk);
  cuuint64_t value = 0;
  CHECK(cuMemPoolSetAttribute(pool.handle, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value) == CUDA_SUCCESS);
  CHECK(cuMemPoolSetAttribute(pool.handle, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &value) == CUDA_SUCCESS);
  CHECK(pool.get(CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
  CHECK(pool.get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 0);
  CHECK(cuMemPoolSetAttribute(pool.handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value) == CUDA_ERROR_INVALID_VALUE);
  value = 1;
  CHECK(cuMemPoolSetAttribute(pool.handle, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolGetAttribute(pool.handle, CU_MEMPOOL_ATTR_USED_MEM_HIGH, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the reuse flags of a pool are on until they are set") {
  const InContext here;
  const Pool pool;
  int flag = -1;
  CHECK(cuMemPoolGetAttribute(pool.handle, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &flag) == CUDA_SUCCESS);
  CHECK(flag == 1);
  flag = 0;
  CHECK(cuMemPoolSetAttribute(pool.handle, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &flag) == CUDA_SUCCESS);
  flag = -1;
  CHECK(cuMemPoolGetAttribute(pool.handle, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &flag) == CUDA_SUCCESS);
  CHECK(flag == 0);
  CHECK(cuMemPoolGetAttribute(pool.handle, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &flag) == CUDA_SUCCESS);
  CHECK(flag == 1);
}

TEST_CASE("a pool does not grow beyond its largest size, rounded up to 32 MiB") {
  const InContext here;
  CUmemPoolProps props = pool_props();
  props.maxSize = 40 * kMiB;
  const Pool pool(props);
  CUdeviceptr address = 0;
  CHECK(cuMemAllocFromPoolAsync(&address, 65 * kMiB, pool.handle, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(here.taken() == 0);
  pool.alloc(64 * kMiB);
  CHECK(cuMemAllocFromPoolAsync(&address, 1, pool.handle, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(here.taken() == 2 * kChunk);
}

TEST_CASE("a pool that the device has no room for is refused memory and takes none") {
  const InContext here;
  const Pool pool;
  const std::uint64_t room = free_bytes() / kChunk * kChunk;
  CUdeviceptr address = 0;
  CHECK(cuMemAllocFromPoolAsync(&address, room + kChunk, pool.handle, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAllocFromPoolAsync(&address, 1ULL << 50, pool.handle, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAllocFromPoolAsync(&address, SIZE_MAX, pool.handle, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(address == 0);
  CHECK(here.taken() == 0);
  const CUdeviceptr all = pool.alloc(room);
  CHECK(cuMemAllocFromPoolAsync(&address, 1, pool.handle, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemFreeAsync(all, nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}
