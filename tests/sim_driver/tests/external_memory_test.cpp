#include <fcntl.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include "tests/sim_driver/tests/context_fixture.h"

namespace {

CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1 described(int fd, unsigned long long bytes) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1 wanted{};
  wanted.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  wanted.handle.fd = fd;
  wanted.size = bytes;
  return wanted;
}

}  // namespace

TEST_CASE("memory of another interface has an address and costs nothing") {
  const InContext here;
  const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  const auto wanted = described(fd, 100 * kMiB);
  CUexternalMemory memory = nullptr;
  REQUIRE(cuImportExternalMemory(&memory, &wanted) == CUDA_SUCCESS);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1 buffer{};
  buffer.offset = 10 * kMiB;
  buffer.size = 90 * kMiB;
  CUdeviceptr address = 0;
  REQUIRE(cuExternalMemoryGetMappedBuffer(&address, memory, &buffer) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(cuMemsetD8_v2(address, 1, 90 * kMiB) == CUDA_SUCCESS);
  std::size_t bytes = 0;
  CHECK(cuMemGetAddressRange_v2(nullptr, &bytes, address) == CUDA_SUCCESS);
  CHECK(bytes == 90 * kMiB);
  CUdeviceptr second = 0;
  buffer.offset += 1;
  CHECK(cuExternalMemoryGetMappedBuffer(&second, memory, &buffer) == CUDA_ERROR_INVALID_VALUE);
  // The descriptor is the driver's, which closes it.
  CHECK(cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
  CHECK(fcntl(fd, F_GETFD) == -1);
  CHECK(cuDestroyExternalMemory(memory) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuExternalMemoryGetMappedBuffer(&second, memory, &buffer) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
  CHECK(here.taken() == 0);
}

TEST_CASE("external memory is imported from descriptors only") {
  const InContext here;
  CUexternalMemory memory = nullptr;
  auto wanted = described(-1, kMiB);
  CHECK(cuImportExternalMemory(&memory, &wanted) == CUDA_ERROR_INVALID_VALUE);
  wanted = described(0, 0);
  CHECK(cuImportExternalMemory(&memory, &wanted) == CUDA_ERROR_INVALID_VALUE);
  wanted = described(0, kMiB);
  wanted.type = static_cast<CUexternalMemoryHandleType>(4);
  CHECK(cuImportExternalMemory(&memory, &wanted) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuImportExternalMemory(nullptr, &wanted) == CUDA_ERROR_INVALID_VALUE);
}
