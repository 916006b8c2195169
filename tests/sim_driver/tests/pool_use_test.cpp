// Which pool an allocation is from, who may use it, and what is left when the pool ends.
#include <catch2/catch.hpp>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/sim_driver/tests/pool_fixture.h"

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
