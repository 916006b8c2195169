// A context on a device of its own for one test, gone afterwards with everything in it.
#pragma once

#include <catch2/catch.hpp>

#include <cstdint>

#include "tests/sim_driver/api.h"

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr std::uint64_t kPage = 2 * kMiB;

inline std::uint64_t free_bytes() {
  std::size_t free = 0;
  REQUIRE(cuMemGetInfo_v2(&free, nullptr) == CUDA_SUCCESS);
  return free;
}

struct InContext {
  CUcontext context = nullptr;
  std::uint64_t free_at_start = 0;

  explicit InContext(int device = 0) {
    REQUIRE(cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cuCtxCreate_v2(&context, 0, device) == CUDA_SUCCESS);
    // Pools give back what earlier tests freed.
    REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
    free_at_start = free_bytes();
  }
  ~InContext() {
    if (context) cuCtxDestroy_v2(context);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

  std::uint64_t taken() const { return free_at_start - free_bytes(); }
  CUdeviceptr alloc(std::size_t bytes) const {
    CUdeviceptr address = 0;
    REQUIRE(cuMemAlloc_v2(&address, bytes) == CUDA_SUCCESS);
    return address;
  }
};
