// Short ways to make and ask memory pools.
#pragma once

#include <limits>

#include "tests/sim_driver/tests/context_fixture.h"

inline constexpr std::uint64_t kChunk = 32 * kMiB;

inline CUmemPoolProps pool_props(CUmemLocationType type = CU_MEM_LOCATION_TYPE_DEVICE, int id = 0) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {type, id};
  return props;
}

// A pool of its own for one test.
struct Pool {
  CUmemoryPool handle = nullptr;

  explicit Pool(const CUmemPoolProps& props = pool_props()) {
    REQUIRE(cuMemPoolCreate(&handle, &props) == CUDA_SUCCESS);
  }
  ~Pool() {
    if (handle) cuMemPoolDestroy(handle);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::uint64_t get(CUmemPool_attribute attribute) const { return get_of(handle, attribute); }
  std::uint64_t reserved() const { return get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
  std::uint64_t used() const { return get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
  void keep(std::uint64_t bytes) const {
    cuuint64_t value = bytes;
    REQUIRE(cuMemPoolSetAttribute(handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value) == CUDA_SUCCESS);
  }
  CUdeviceptr alloc(std::size_t bytes, CUstream stream = nullptr) const {
    CUdeviceptr address = 0;
    REQUIRE(cuMemAllocFromPoolAsync(&address, bytes, handle, stream) == CUDA_SUCCESS);
    return address;
  }

  static std::uint64_t get_of(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    REQUIRE(cuMemPoolGetAttribute(pool, attribute, &value) == CUDA_SUCCESS);
    return value;
  }
};

inline constexpr std::uint64_t kKeepAll = std::numeric_limits<std::uint64_t>::max();

inline CUmemoryPool default_pool_of(int device) {
  CUmemoryPool pool = nullptr;
  REQUIRE(cuDeviceGetDefaultMemPool(&pool, device) == CUDA_SUCCESS);
  return pool;
}
