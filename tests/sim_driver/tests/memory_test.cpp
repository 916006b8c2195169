#include <catch2/catch.hpp>

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/sim_driver/tests/context_fixture.h"

namespace {

std::vector<unsigned char> counting(std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  std::iota(data.begin(), data.end(), static_cast<unsigned char>(1));
  return data;
}

std::vector<unsigned char> read_back(CUdeviceptr address, std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  REQUIRE(cuMemcpyDtoH_v2(data.data(), address, bytes) == CUDA_SUCCESS);
  return data;
}

CUdeviceptr managed(std::size_t bytes) {
  CUdeviceptr address = 0;
  REQUIRE(cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  return address;
}

}  // namespace

TEST_CASE("what is copied to the device is read back") {
  const InContext here;
  const CUdeviceptr first = here.alloc(1000), second = here.alloc(1000);
  const auto data = counting(1000);
  REQUIRE(cuMemcpyHtoD_v2(first, data.data(), 1000) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoD_v2(second, first, 1000) == CUDA_SUCCESS);
  CHECK(read_back(second, 1000) == data);
  REQUIRE(cuMemsetD32_v2(second + 4, 0x01020304, 2) == CUDA_SUCCESS);
  const auto changed = read_back(second, 16);
  CHECK(changed[3] == data[3]);
  CHECK(changed[4] == 4);
  CHECK(changed[11] == 1);
  CHECK(changed[12] == data[12]);
  std::vector<unsigned char> host(1000);
  REQUIRE(cuMemcpy(reinterpret_cast<CUdeviceptr>(host.data()), first, 1000) == CUDA_SUCCESS);
  CHECK(host == data);
}

TEST_CASE("rows are copied with their pitches") {
  const InContext here;
  CUdeviceptr address = 0;
  std::size_t pitch = 0;
  REQUIRE(cuMemAllocPitch_v2(&address, &pitch, 10, 3, 4) == CUDA_SUCCESS);
  const auto data = counting(30);
  CUDA_MEMCPY2D_v2 copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = data.data();
  copy.srcPitch = 10;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = address;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 10;
  copy.Height = 3;
  REQUIRE(cuMemcpy2D_v2(&copy) == CUDA_SUCCESS);
  CHECK(read_back(address + 2 * pitch, 10) == std::vector<unsigned char>(data.begin() + 20, data.end()));
}

TEST_CASE("ranges that are not in one allocation are refused") {
  const InContext here;
  const CUdeviceptr address = here.alloc(1000);
  unsigned char byte = 0;
  CHECK(cuMemcpyHtoD_v2(address + 999, &byte, 1) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoD_v2(address + 1000, &byte, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD_v2(0, &byte, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoH_v2(nullptr, address, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD8_v2(address, 0, 1001) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD32_v2(address + 2, 0, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("memory that is too large to keep takes writes and reads as zeros") {
  const InContext here;
  const CUdeviceptr address = here.alloc(1024 * kMiB);
  const auto data = counting(100);
  CHECK(cuMemcpyHtoD_v2(address, data.data(), 100) == CUDA_SUCCESS);
  CHECK(read_back(address, 100) == std::vector<unsigned char>(100, 0));
}

TEST_CASE("a pointer tells its allocation") {
  const InContext here(1);
  const CUdeviceptr address = here.alloc(5000);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  CHECK(cuMemGetAddressRange_v2(&base, &size, address + 4999) == CUDA_SUCCESS);
  CHECK(base == address);
  CHECK(size == 5000);
  CHECK(cuMemGetAddressRange_v2(nullptr, nullptr, address) == CUDA_SUCCESS);
  CHECK(cuMemGetAddressRange_v2(&base, &size, address + 5000) == CUDA_ERROR_NOT_FOUND);
  int ordinal = -1;
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS);
  CHECK(ordinal == 1);
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 12345) == CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* answers[] = {&ordinal, &size};
  CHECK(cuPointerGetAttributes(2, wanted, answers, 12345) == CUDA_SUCCESS);
  CHECK(ordinal == -2);
  CHECK(size == 0);
}

TEST_CASE("managed memory takes its pages once the device touches them") {
  const InContext here;
  const CUdeviceptr address = managed(10 * kMiB);
  CHECK(here.taken() == 0);
  std::memset(reinterpret_cast<void*>(address), 7, 10 * kMiB);  // by the host
  CHECK(here.taken() == 0);
  CHECK(cuMemsetD8_v2(address, 1, 1) == CUDA_SUCCESS);
  CHECK(here.taken() == kPage);
  CHECK(*reinterpret_cast<unsigned char*>(address) == 1);
  CHECK(cuMemPrefetchAsync(address, 10 * kMiB, 0, nullptr) == CUDA_SUCCESS);
  CHECK(here.taken() == 10 * kMiB);
  CHECK(cuMemPrefetchAsync(address, 4 * kMiB, -1, nullptr) == CUDA_SUCCESS);
  CHECK(here.taken() == 6 * kMiB);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("managed memory that prefers the host takes nothing until it is prefetched") {
  const InContext here;
  const CUdeviceptr address = managed(10 * kMiB);
  CHECK(cuMemAdvise(address, 10 * kMiB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1) == CUDA_SUCCESS);
  CHECK(cuMemsetD8_v2(address, 1, 10 * kMiB) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CHECK(cuMemPrefetchAsync_v2(address, 10 * kMiB, device, 0, nullptr) == CUDA_SUCCESS);
  CHECK(here.taken() == 10 * kMiB);
}

TEST_CASE("host memory takes nothing of the device") {
  const InContext here;
  void* pointer = nullptr;
  REQUIRE(cuMemHostAlloc(&pointer, 10 * kMiB, 0) == CUDA_SUCCESS);
  std::memset(pointer, 1, 10 * kMiB);
  CHECK(here.taken() == 0);
  CUdeviceptr address = 0;
  CHECK(cuMemHostGetDevicePointer_v2(&address, pointer, 0) == CUDA_SUCCESS);
  CHECK(address == reinterpret_cast<CUdeviceptr>(pointer));
  CHECK(cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeHost(pointer) == CUDA_SUCCESS);
  CHECK(cuMemFreeHost(pointer) == CUDA_ERROR_INVALID_VALUE);
  std::vector<unsigned char> own(4096);
  CHECK(cuMemHostRegister_v2(own.data(), own.size(), 0) == CUDA_SUCCESS);
  CHECK(cuMemHostRegister_v2(own.data(), own.size(), 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK(cuMemHostUnregister(own.data()) == CUDA_SUCCESS);
  CHECK(cuMemHostUnregister(own.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
