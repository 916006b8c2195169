#include <catch2/catch.hpp>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

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

TEST_CASE("memory of a pool on the host is the process's own and takes nothing of the device") {
  const InContext here;
  const auto type = GENERATE(CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA);
  const Pool pool(pool_props(type, 0));
  const CUdeviceptr address = pool.alloc(3 * kChunk);
  CHECK(here.taken() == 0);
  CHECK(pool.reserved() == 3 * kChunk);
  std::memset(reinterpret_cast<void*>(address), 7, 3 * kChunk);
  CHECK(cuMemsetD8_v2(address + 1, 9, 1) == CUDA_SUCCESS);
  CHECK(reinterpret_cast<unsigned char*>(address)[1] == 9);
  int ordinal = 0;
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS);
  CHECK(ordinal == -1);
  unsigned int memory_type = 0;
  CHECK(cuPointerGetAttribute(&memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS);
  CHECK(memory_type == CU_MEMORYTYPE_HOST);
  CHECK(cuMemFreeHost(reinterpret_cast<void*>(address)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(pool.reserved() == 0);
}

TEST_CASE("the stream says whose pool an allocation is from, the pool where it lies") {
  const InContext second(1);
  CUstream stream_of_second = nullptr;
  REQUIRE(cuStreamCreate(&stream_of_second, 0) == CUDA_SUCCESS);
  const InContext first(0);
  CUdeviceptr address = 0;
  int ordinal = -1;
  REQUIRE(cuMemAllocAsync(&address, 1, stream_of_second) == CUDA_SUCCESS);
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS);
  CHECK(ordinal == 1);
  CUmemoryPool pool_of_address = nullptr;
  CHECK(cuPointerGetAttribute(&pool_of_address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) == CUDA_SUCCESS);
  CHECK(pool_of_address == default_pool_of(1));
  CHECK(first.taken() == 0);
  CHECK(cuMemFreeAsync(address, stream_of_second) == CUDA_SUCCESS);

  const Pool of_first(pool_props(CU_MEM_LOCATION_TYPE_DEVICE, 0));
  address = of_first.alloc(1, stream_of_second);
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS);
  CHECK(ordinal == 0);
  CHECK(first.taken() == kChunk);
  CHECK(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(first.taken() == 0);
}

TEST_CASE("memory is freed by the functions of the other family too") {
  const InContext here;
  const Pool pool;
  const CUdeviceptr linear = here.alloc(kPage);
  CHECK(cuMemFreeAsync(linear, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(linear) == CUDA_ERROR_INVALID_VALUE);
  CHECK(here.taken() == 0);
  const CUdeviceptr pooled = pool.alloc(kPage);
  CHECK(cuMemFree_v2(pooled + 512) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(pooled) == CUDA_SUCCESS);
  CHECK(pool.used() == 0);
  CHECK(pool.reserved() == 0);
  CHECK(cuMemFreeAsync(pooled, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("an allocation of 0 bytes takes nothing and can be freed") {
  const InContext here;
  const Pool pool;
  CUdeviceptr address = 1;
  CHECK(cuMemAllocFromPoolAsync(&address, 0, pool.handle, nullptr) == CUDA_SUCCESS);
  CHECK(pool.used() == 0);
  CHECK(here.taken() == 0);
  CHECK(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
}

TEST_CASE("a destroyed pool keeps its memory until the last allocation is freed") {
  const InContext here;
  Pool pool;
  const CUdeviceptr first = pool.alloc(kChunk);
  const CUdeviceptr second = pool.alloc(kChunk);
  CHECK(cuMemPoolDestroy(pool.handle) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(pool.handle) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolTrimTo(pool.handle, 0) == CUDA_ERROR_INVALID_VALUE);
  pool.handle = nullptr;
  CHECK(here.taken() == 2 * kChunk);
  CHECK(cuMemsetD8_v2(first, 1, kChunk) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(first, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(second, nullptr) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("a pool that only keeps free memory gives it back when it is destroyed") {
  const InContext here;
  Pool pool;
  pool.keep(kKeepAll);
  CHECK(cuMemFreeAsync(pool.alloc(kChunk), nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(here.taken() == kChunk);
  CHECK(cuMemPoolDestroy(pool.handle) == CUDA_SUCCESS);
  pool.handle = nullptr;
  CHECK(here.taken() == 0);
}

TEST_CASE("a device has its default pool until it is given another, and again when that is destroyed") {
  const InContext here;
  const CUmemoryPool own = default_pool_of(0);
  CHECK(cuMemPoolDestroy(own) == CUDA_ERROR_INVALID_VALUE);
  CUmemoryPool current = nullptr;
  CHECK(cuDeviceGetMemPool(&current, 0) == CUDA_SUCCESS);
  CHECK(current == own);
  Pool pool;
  const Pool of_second(pool_props(CU_MEM_LOCATION_TYPE_DEVICE, 1));
  CHECK(cuDeviceSetMemPool(0, of_second.handle) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceSetMemPool(0, pool.handle) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  CHECK(cuMemAllocAsync_ptsz(&address, 100, nullptr) == CUDA_SUCCESS);
  CHECK(pool.used() == 100);
  CHECK(cuMemFreeAsync_ptsz(address, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(pool.handle) == CUDA_SUCCESS);
  pool.handle = nullptr;
  CHECK(cuDeviceGetMemPool(&current, 0) == CUDA_SUCCESS);
  CHECK(current == own);
  CHECK(cuDeviceGetMemPool(&current, 9) == CUDA_ERROR_INVALID_DEVICE);
}

TEST_CASE("pools are found by their location too") {
  const InContext here;
  CUmemLocation second{CU_MEM_LOCATION_TYPE_DEVICE, 1}, host{CU_MEM_LOCATION_TYPE_HOST, 0};
  CUmemoryPool found = nullptr;
  CHECK(cuMemGetDefaultMemPool(&found, &second, CU_MEM_ALLOCATION_TYPE_PINNED) == CUDA_SUCCESS);
  CHECK(found == default_pool_of(1));
  const Pool pool(pool_props(CU_MEM_LOCATION_TYPE_DEVICE, 1));
  CHECK(cuMemSetMemPool(&second, CU_MEM_ALLOCATION_TYPE_PINNED, pool.handle) == CUDA_SUCCESS);
  CHECK(cuMemGetMemPool(&found, &second, CU_MEM_ALLOCATION_TYPE_PINNED) == CUDA_SUCCESS);
  CHECK(found == pool.handle);
  CHECK(cuMemGetDefaultMemPool(&found, &host, CU_MEM_ALLOCATION_TYPE_PINNED) == CUDA_SUCCESS);
  CHECK(found != default_pool_of(0));
  CHECK(cuMemGetMemPool(&found, &host, CU_MEM_ALLOCATION_TYPE_MANAGED) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("pools with wrong properties are refused") {
  const InContext here;
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props = pool_props();
  CHECK(cuMemPoolCreate(nullptr, &props) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolCreate(&pool, nullptr) == CUDA_ERROR_INVALID_VALUE);
  props.location.id = 7;
  CHECK(cuMemPoolCreate(&pool, &props) == CUDA_ERROR_INVALID_VALUE);
  props = pool_props(CU_MEM_LOCATION_TYPE_INVALID);
  CHECK(cuMemPoolCreate(&pool, &props) == CUDA_ERROR_INVALID_VALUE);
  props = pool_props();
  props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
  CHECK(cuMemPoolCreate(&pool, &props) == CUDA_ERROR_INVALID_VALUE);
  props = pool_props();
  props.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  CHECK(cuMemPoolCreate(&pool, &props) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuMemPoolGetAttribute(reinterpret_cast<CUmemoryPool>(&props), CU_MEMPOOL_ATTR_USED_MEM_HIGH, &pool) ==
        CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a pool is open to its own device, and to others once they are given access") {
  const InContext here;
  const Pool pool;
  CUmemLocation own{CU_MEM_LOCATION_TYPE_DEVICE, 0}, other{CU_MEM_LOCATION_TYPE_DEVICE, 1};
  CUmemAccess_flags flags{};
  CHECK(cuMemPoolGetAccess(&flags, pool.handle, &own) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(cuMemPoolGetAccess(&flags, pool.handle, &other) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
  CUmemAccessDesc access{other, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK(cuMemPoolSetAccess(pool.handle, &access, 1) == CUDA_SUCCESS);
  CHECK(cuMemPoolGetAccess(&flags, pool.handle, &other) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  access = {own, CU_MEM_ACCESS_FLAGS_PROT_NONE};
  CHECK(cuMemPoolSetAccess(pool.handle, &access, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the reset of a primary context leaves what the default pool holds") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  REQUIRE(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  REQUIRE(cuCtxPushCurrent_v2(context) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  REQUIRE(cuMemAllocAsync(&address, 100, nullptr) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
  CHECK(Pool::get_of(default_pool_of(0), CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 100);
  CHECK(Pool::get_of(default_pool_of(0), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == kChunk);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS);
  const InContext here;
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(Pool::get_of(default_pool_of(0), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

TEST_CASE("streams take nothing of the device") {
  const InContext here;
  CUstream stream = nullptr;
  for (int i = 0; i < 64; ++i) REQUIRE(cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("threads allocate from one pool at once, no two get the same memory, and nothing is lost") {
  const InContext here;
  const Pool pool;
  std::vector<std::thread> threads;
  for (unsigned int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      if (cuCtxSetCurrent(here.context) != CUDA_SUCCESS) return;
      std::mt19937 random(t);
      std::vector<CUdeviceptr> live;
      for (int i = 0; i < 1000; ++i) {
        CUdeviceptr address = 0;
        if (cuMemAllocFromPoolAsync_ptsz(&address, 1 + random() % (8 * kMiB), pool.handle, nullptr) == CUDA_SUCCESS)
          live.push_back(address);
        if (live.size() > 10) {
          cuMemFreeAsync_ptsz(live.front(), nullptr);
          live.erase(live.begin());
        }
        if (i % 100 == 0) cuStreamSynchronize_ptsz(nullptr);
      }
      for (const CUdeviceptr address : live) cuMemFreeAsync_ptsz(address, nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.used() == 0);
  CHECK(pool.reserved() == here.taken());
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}
