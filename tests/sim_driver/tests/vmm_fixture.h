// Physical memory and addresses for it.
#pragma once

#include <catch2/catch.hpp>

#include "tests/sim_driver/tests/context_fixture.h"

inline CUmemAllocationProp device_memory(int device = 0) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

inline CUmemAllocationProp shareable_memory(int device = 0) {
  CUmemAllocationProp prop = device_memory(device);
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}

inline CUmemGenericAllocationHandle create(std::size_t bytes, const CUmemAllocationProp& prop = device_memory()) {
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE(cuMemCreate(&handle, bytes, &prop, 0) == CUDA_SUCCESS);
  return handle;
}

inline CUdeviceptr reserve(std::size_t bytes, std::size_t alignment = 0) {
  CUdeviceptr address = 0;
  REQUIRE(cuMemAddressReserve(&address, bytes, alignment, 0, 0) == CUDA_SUCCESS);
  return address;
}

inline CUresult allow(CUdeviceptr address, std::size_t bytes, CUmemAccess_flags flags, int device = 0) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
  return cuMemSetAccess(address, bytes, &access, 1);
}
