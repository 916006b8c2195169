// Physical memory and its handles.
#include <catch2/catch.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/vmm_fixture.h"

TEST_CASE("physical memory is taken when it is created and goes back with the last reference") {
  const InContext here;
  const auto handle = create(10 * kMiB);
  CHECK(here.taken() == 10 * kMiB);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a mapping keeps physical memory whose handle is released") {
  const InContext here;
  const auto handle = create(4 * kMiB);
  const CUdeviceptr address = reserve(8 * kMiB);
  CHECK(here.taken() == 4 * kMiB);  // addresses cost nothing
  REQUIRE(cuMemMap(address + 2 * kMiB, 4 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 4 * kMiB);
  CHECK(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressFree(address, 8 * kMiB) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemUnmap(address, 8 * kMiB) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(cuMemUnmap(address, 8 * kMiB) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(address, 8 * kMiB) == CUDA_SUCCESS);
  CHECK(cuMemUnmap(address, 8 * kMiB) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("retaining an address gives the handle it was mapped with, once more") {
  const InContext here;
  const auto handle = create(2 * kMiB);
  const CUdeviceptr address = reserve(2 * kMiB);
  REQUIRE(cuMemMap(address, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CUmemGenericAllocationHandle again = 0;
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address + 12345)) == CUDA_SUCCESS);
  CHECK(again == handle);
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address)) == CUDA_SUCCESS);
  CHECK(cuMemUnmap(address, 2 * kMiB) == CUDA_SUCCESS);
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 2 * kMiB);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(cuMemAddressFree(address, 2 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("the value of a released handle is not given out again while a mapping keeps its memory") {
  const InContext here;
  const auto handle = create(kPage);
  const CUdeviceptr address = reserve(kPage);
  REQUIRE(cuMemMap(address, kPage, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    const auto later = create(kPage);
    CHECK(later != handle);
    CHECK(cuMemRelease(later) == CUDA_SUCCESS);
  }
  CUmemGenericAllocationHandle again = 0;
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address)) == CUDA_SUCCESS);
  CHECK(again == handle);
  CHECK(cuMemRelease(again) == CUDA_SUCCESS);
  CHECK(cuMemUnmap(address, kPage) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(address, kPage) == CUDA_SUCCESS);
}

TEST_CASE("physical memory needs no context, and a reset or an end of contexts leaves it") {
  const InContext here;
  CUcontext context = nullptr;
  REQUIRE(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  REQUIRE(cuCtxPopCurrent_v2(&context) == CUDA_SUCCESS);
  const auto handle = create(6 * kMiB);
  REQUIRE(cuCtxPushCurrent_v2(context) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS);
  CHECK(here.taken() == 6 * kMiB);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("the location says which device pays, and the host costs no device anything") {
  const InContext here(1);
  const std::string before = simctl({"used", "--bytes", "0"});
  const auto on_first = create(2 * kMiB, device_memory(0));
  CHECK(here.taken() == 0);
  CHECK(std::stoull(simctl({"used", "--bytes", "0"})) - std::stoull(before) == 2 * kMiB);
  CHECK(cuMemRelease(on_first) == CUDA_SUCCESS);
  CUmemAllocationProp prop = device_memory();
  CUmemGenericAllocationHandle handle = 0;
  for (const CUmemLocationType type : {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA}) {
    prop.location = {type, 0};
    REQUIRE(cuMemCreate(&handle, 64 * kMiB, &prop, 0) == CUDA_SUCCESS);
    CHECK(here.taken() == 0);
    CHECK(simctl({"used", "--bytes", "0"}) == before);
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  }
  prop.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0};
  CHECK(cuMemCreate(&handle, 2 * kMiB, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 2};
  CHECK(cuMemCreate(&handle, 2 * kMiB, &prop, 0) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(here.taken() == 0);
}

TEST_CASE("what cannot be created is refused and takes nothing") {
  const InContext here(1);
  CUmemAllocationProp prop = device_memory(1);
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemCreate(&handle, 3 * kMiB, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemCreate(&handle, 2 * kMiB, &prop, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemCreate(&handle, 2 * kMiB, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  const std::uint64_t all = free_bytes() / kPage * kPage;
  CHECK(cuMemCreate(&handle, all + kPage, &prop, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  CHECK(cuMemCreate(&handle, kPage, &prop, 0) == CUDA_ERROR_NOT_PERMITTED);
  prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  CHECK(cuMemCreate(&handle, kPage, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(here.taken() == 0);
  handle = create(all, device_memory(1));
  CHECK(free_bytes() < kPage);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
}

TEST_CASE("the granularity is a page, and a handle tells its properties") {
  const InContext here;
  CUmemAllocationProp prop = shareable_memory(1);
  std::size_t bytes = 0;
  for (const auto option : {CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
    CHECK(cuMemGetAllocationGranularity(&bytes, &prop, option) == CUDA_SUCCESS);
    CHECK(bytes == kPage);
  }
  CHECK(cuMemGetAllocationGranularity(&bytes, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_ERROR_INVALID_VALUE);
  prop.allocFlags.gpuDirectRDMACapable = 1;
  const auto handle = create(kPage, prop);
  CUmemAllocationProp told{};
  CHECK(cuMemGetAllocationPropertiesFromHandle(&told, handle) == CUDA_SUCCESS);
  CHECK(told.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CHECK(told.location.id == 1);
  CHECK(told.allocFlags.gpuDirectRDMACapable == 1);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  int supported = 0;
  CHECK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 0) == CUDA_SUCCESS);
  CHECK(supported == 1);
}

TEST_CASE("a handle that never was one is refused, and the trace says that the real driver would crash") {
  const std::string file = scratch_file("would-crash-trace");
  CHECK(output_of({"invented-handles"}, {{"VGSIM_TRACE", file}}) == "1 1 0 1 1");
  std::ifstream stream(file);
  std::vector<std::string> noted;
  for (std::string line; std::getline(stream, line);) {
    if (line.find("would-crash") != std::string::npos) noted.push_back(line.substr(0, line.find(' ')));
  }
  CHECK(noted == std::vector<std::string>{"cuMemRelease", "cuMemMap", "cuMemRelease"});
}
