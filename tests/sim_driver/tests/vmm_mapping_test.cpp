// Addresses for physical memory: reserved, mapped, opened.
#include <catch2/catch.hpp>

#include <vector>

#include "tests/sim_driver/tests/vmm_fixture.h"

namespace {

unsigned char byte_at(CUdeviceptr address) {
  unsigned char value = 0;
  REQUIRE(cuMemcpyDtoH_v2(&value, address, 1) == CUDA_SUCCESS);
  return value;
}

}  // namespace

TEST_CASE("reserved addresses are aligned and their own") {
  const InContext here;
  const CUdeviceptr first = reserve(6 * kMiB), second = reserve(kPage + 4096, 64 * kMiB), third = reserve(kPage);
  CHECK(first % kPage == 0);
  CHECK(second % (64 * kMiB) == 0);
  CHECK((third >= first + 6 * kMiB || third + kPage <= first));
  CHECK((third >= second + 2 * kPage || third + kPage <= second));
  CUdeviceptr none = 0;
  CHECK(cuMemAddressReserve(&none, 100, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressReserve(&none, 0, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressReserve(&none, kPage, 3, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressReserve(&none, 1ULL << 60, 0, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAddressFree(first, kPage) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressFree(first + kPage, 4 * kMiB) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressFree(first, 6 * kMiB) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(first, 6 * kMiB) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressFree(second, kPage + 4096) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(third, kPage) == CUDA_SUCCESS);
}

TEST_CASE("memory is mapped on whole pages of a reserved range, once for each place") {
  const InContext here;
  const auto handle = create(4 * kMiB);
  const CUdeviceptr address = reserve(8 * kMiB);
  CHECK(cuMemMap(address, 4 * kMiB, 2 * kMiB, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(address, 6 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(address + 6 * kMiB, 4 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(address + 4096, 2 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(address, 4 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuMemMap(address + 2 * kMiB, 4 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(address + 4 * kMiB, 4 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuMemUnmap(address, 2 * kMiB) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemUnmap(address + 2 * kMiB, 4 * kMiB) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuMemUnmap(address, 4 * kMiB) == CUDA_SUCCESS);
  CHECK(here.taken() == 4 * kMiB);  // the other place still has it
  CHECK(cuMemUnmap(address, 8 * kMiB) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(cuMemAddressFree(address, 8 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("mapped memory is used only with access, and both places of a handle show the same data") {
  const InContext here;
  const auto handle = create(kPage);
  const CUdeviceptr address = reserve(2 * kPage);
  REQUIRE(cuMemMap(address, kPage, 0, handle, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemMap(address + kPage, kPage, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuMemsetD8_v2(address, 7, 100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(allow(address, kPage, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == CUDA_SUCCESS);
  CHECK(allow(address + kPage, kPage, CU_MEM_ACCESS_FLAGS_PROT_READ) == CUDA_SUCCESS);
  CHECK(cuMemsetD8_v2(address, 7, 100) == CUDA_SUCCESS);
  CHECK(byte_at(address + kPage + 99) == 7);
  CHECK(byte_at(address + kPage + 100) == 0);
  CHECK(cuMemsetD8_v2(address + kPage, 8, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoD_v2(address + 1000, address + kPage + 99, 1) == CUDA_SUCCESS);
  CHECK(byte_at(address + 1000) == 7);
  // A range over both mappings is checked; its data is not kept.
  std::vector<unsigned char> data(2 * kPage);
  CHECK(cuMemcpyDtoH_v2(data.data(), address, 2 * kPage) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoD_v2(address, data.data(), 2 * kPage) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoH_v2(data.data(), address + 1, 2 * kPage) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemUnmap(address, 2 * kPage) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoH_v2(data.data(), address, 1) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemMap(address, kPage, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoH_v2(data.data(), address, 1) == CUDA_ERROR_INVALID_VALUE);  // a new mapping has no access
  CHECK(cuMemUnmap(address, kPage) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(address, 2 * kPage) == CUDA_SUCCESS);
}

TEST_CASE("access is given to whole mappings and told for each location") {
  const InContext here;
  const auto handle = create(2 * kPage);
  const CUdeviceptr address = reserve(4 * kPage);
  REQUIRE(cuMemMap(address, 2 * kPage, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(allow(address, 4 * kPage, CU_MEM_ACCESS_FLAGS_PROT_READ) == CUDA_ERROR_INVALID_VALUE);
  CHECK(allow(address, kPage, CU_MEM_ACCESS_FLAGS_PROT_READ) == CUDA_ERROR_INVALID_VALUE);
  CHECK(allow(address, 2 * kPage, CU_MEM_ACCESS_FLAGS_PROT_READ, 5) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(allow(address, 2 * kPage, static_cast<CUmemAccess_flags>(2)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(allow(address, 2 * kPage, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 1) == CUDA_SUCCESS);
  const CUmemAccessDesc by_host{{CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ACCESS_FLAGS_PROT_READ};
  CHECK(cuMemSetAccess(address, 2 * kPage, &by_host, 1) == CUDA_ERROR_INVALID_VALUE);
  unsigned long long flags = 9;
  CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CHECK(cuMemGetAccess(&flags, &location, address) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
  location.id = 1;
  CHECK(cuMemGetAccess(&flags, &location, address + 2 * kPage - 1) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(cuMemGetAccess(&flags, &location, address + 2 * kPage) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemUnmap(address, 4 * kPage) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(address, 4 * kPage) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
}

TEST_CASE("mapped memory is found by its pointer and not freed by it") {
  const InContext here;
  const auto handle = create(2 * kPage, shareable_memory(1));
  const CUdeviceptr address = reserve(2 * kPage);
  REQUIRE(cuMemMap(address, 2 * kPage, 0, handle, 0) == CUDA_SUCCESS);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  CHECK(cuMemGetAddressRange_v2(&base, &bytes, address + kPage) == CUDA_SUCCESS);
  CHECK(base == address);
  CHECK(bytes == 2 * kPage);
  int ordinal = -1, legacy_ipc = -1;
  unsigned int type = 0;
  unsigned long long handle_types = 0;
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS);
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS);
  CHECK(cuPointerGetAttribute(&legacy_ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address) == CUDA_SUCCESS);
  CHECK(cuPointerGetAttribute(&handle_types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address) == CUDA_SUCCESS);
  CHECK(ordinal == 1);
  CHECK(type == CU_MEMORYTYPE_DEVICE);
  CHECK(legacy_ipc == 0);
  CHECK(handle_types == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CHECK(cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemUnmap(address, 2 * kPage) == CUDA_SUCCESS);
  CHECK(cuMemGetAddressRange_v2(&base, &bytes, address) == CUDA_ERROR_NOT_FOUND);
  CHECK(cuMemAddressFree(address, 2 * kPage) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
}

TEST_CASE("mapped memory of the host is on the host") {
  const InContext here;
  CUmemAllocationProp prop = device_memory();
  prop.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  const auto handle = create(kPage, prop);
  const CUdeviceptr address = reserve(kPage);
  REQUIRE(cuMemMap(address, kPage, 0, handle, 0) == CUDA_SUCCESS);
  const CUmemAccessDesc by_host{{CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ACCESS_FLAGS_PROT_READ};
  CHECK(cuMemSetAccess(address, kPage, &by_host, 1) == CUDA_SUCCESS);
  CHECK(allow(address, kPage, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == CUDA_SUCCESS);
  CHECK(cuMemsetD8_v2(address, 5, 1) == CUDA_SUCCESS);
  CHECK(byte_at(address) == 5);
  unsigned int type = 0;
  int ordinal = 0;
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS);
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS);
  CHECK(type == CU_MEMORYTYPE_HOST);
  CHECK(ordinal == -1);
  CHECK(here.taken() == 0);
  CHECK(cuMemUnmap(address, kPage) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(address, kPage) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
}
