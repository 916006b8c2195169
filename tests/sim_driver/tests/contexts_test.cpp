#include <catch2/catch.hpp>

#include <thread>

#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/context_fixture.h"

namespace {

std::uint64_t used_mib(int gpu) { return std::stoull(simctl({"used", std::to_string(gpu)})); }

}  // namespace

TEST_CASE("a context takes 520 MiB and gives it back with all its memory") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  const std::uint64_t before = used_mib(1);
  CUcontext context = nullptr;
  REQUIRE(cuCtxCreate_v2(&context, 0, 1) == CUDA_SUCCESS);
  CUdevice device = 0;
  CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
  CHECK(device == 1);
  CHECK(used_mib(1) - before == 520);
  CUdeviceptr address = 0;
  REQUIRE(cuMemAlloc_v2(&address, 100 * kMiB) == CUDA_SUCCESS);
  CHECK(used_mib(1) - before == 620);
  CHECK(cuCtxDestroy_v2(context) == CUDA_SUCCESS);
  CHECK(used_mib(1) == before);
  CHECK(cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxGetCurrent(&context) == CUDA_SUCCESS);
  CHECK(context == nullptr);
}

TEST_CASE("a primary context lives from the first retain to the last release") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  const std::uint64_t before = used_mib(1);
  CUcontext first = nullptr, second = nullptr;
  unsigned int flags = 0;
  int active = 1;
  CHECK(cuDevicePrimaryCtxRelease_v2(1) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuDevicePrimaryCtxGetState(1, &flags, &active) == CUDA_SUCCESS);
  CHECK(active == 0);
  REQUIRE(cuDevicePrimaryCtxRetain(&first, 1) == CUDA_SUCCESS);
  REQUIRE(cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
  CHECK(first == second);
  CHECK(used_mib(1) - before == 520);
  CHECK(cuDevicePrimaryCtxRelease_v2(1) == CUDA_SUCCESS);
  CHECK(used_mib(1) - before == 520);
  CHECK(cuDevicePrimaryCtxRelease_v2(1) == CUDA_SUCCESS);
  CHECK(used_mib(1) == before);
}

TEST_CASE("a reset frees the memory of the primary context, and its pointers are no longer known") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  const std::uint64_t before = used_mib(0);
  for (int round = 0; round < 8; ++round) {
    CUcontext context = nullptr;
    REQUIRE(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CUdeviceptr address = 0;
    REQUIRE(cuMemAlloc_v2(&address, 8192 * kMiB) == CUDA_SUCCESS);
    REQUIRE(cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
    CHECK(used_mib(0) == before);
    CHECK(cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemAlloc_v2(&address, 1) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS);
  }
}

TEST_CASE("a context is refused where the device has no room for it") {
  const InContext here(1);
  CUdeviceptr address = 0;
  REQUIRE(cuMemAlloc_v2(&address, free_bytes() - 500 * kMiB) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  CHECK(cuCtxCreate_v2(&context, 0, 1) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuDevicePrimaryCtxRetain(&context, 1) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("each thread has a stack of contexts") {
  const InContext first(0);
  const InContext second(1);
  CUcontext current = nullptr;
  CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
  CHECK(current == second.context);
  std::thread([&] {
    CUcontext of_thread = first.context;
    CHECK(cuCtxGetCurrent(&of_thread) == CUDA_SUCCESS);
    CHECK(of_thread == nullptr);
    CHECK(cuCtxPopCurrent_v2(&of_thread) == CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  CHECK(cuCtxPopCurrent_v2(&current) == CUDA_SUCCESS);
  CHECK(current == second.context);
  CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
  CHECK(current == first.context);
  CHECK(cuCtxPushCurrent_v2(second.context) == CUDA_SUCCESS);
  CHECK(cuCtxSetCurrent(reinterpret_cast<CUcontext>(&current)) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("a destroyed context is told apart from one that never was") {
  CUcontext gone = nullptr;
  {
    InContext here;
    gone = here.context;
  }
  CHECK(cuCtxPushCurrent_v2(gone) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuCtxDestroy_v2(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("a stack of 8 KiB takes 1,848 MiB with no allocation call, until its context ends") {
  const InContext outer;
  {
    const InContext here;
    REQUIRE(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192) == CUDA_SUCCESS);
  }
  CHECK(outer.taken() == 0);
  const InContext here;
  std::size_t bytes = 0;
  CHECK(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS);
  CHECK(bytes == 1024);
  CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192) == CUDA_SUCCESS);
  CHECK(here.taken() == 1848 * kMiB);
  CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 128 << 10) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(here.taken() == 1848 * kMiB);
}

TEST_CASE("limits of the device's heap and of its printf are kept for the context and take nothing") {
  const InContext here;
  struct Limit {
    CUlimit name;
    std::size_t at_first, later;
  };
  for (const Limit& limit :
       {Limit{CU_LIMIT_MALLOC_HEAP_SIZE, 8 * kMiB, 512 * kMiB}, Limit{CU_LIMIT_PRINTF_FIFO_SIZE, kMiB, 64 * kMiB}}) {
    std::size_t bytes = 0;
    CHECK(cuCtxGetLimit(&bytes, limit.name) == CUDA_SUCCESS);
    CHECK(bytes == limit.at_first);
    CHECK(cuCtxSetLimit(limit.name, limit.later) == CUDA_SUCCESS);
    CHECK(cuCtxGetLimit(&bytes, limit.name) == CUDA_SUCCESS);
    CHECK(bytes == limit.later);
  }
  CHECK(here.taken() == 0);
  CHECK(cuCtxSetLimit(static_cast<CUlimit>(99), 1) == CUDA_ERROR_UNSUPPORTED_LIMIT);
}

TEST_CASE("peer access costs no memory and is granted once") {
  const InContext first(0);
  const InContext second(1);
  int can = 0;
  CHECK(cuDeviceCanAccessPeer(&can, 0, 1) == CUDA_SUCCESS);
  CHECK(can == 1);
  CHECK(cuCtxEnablePeerAccess(first.context, 0) == CUDA_SUCCESS);
  CHECK(cuCtxEnablePeerAccess(first.context, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  CHECK(second.taken() == 0);
  CHECK(cuCtxDisablePeerAccess(first.context) == CUDA_SUCCESS);
  CHECK(cuCtxDisablePeerAccess(first.context) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

TEST_CASE("before cuInit and in a forked child calls are refused") {
  CHECK(output_of({"before-init"}) == "3 0 0 0 0 1");
  CHECK(output_of({"fork", "after-init"}) == "3 3");
  CHECK(output_of({"fork", "before-init"}) == "0 0");
}
