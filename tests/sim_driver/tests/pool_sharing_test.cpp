#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <cstring>

#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/pool_fixture.h"

namespace {

CUmemPoolProps shareable() {
  CUmemPoolProps props = pool_props();
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return props;
}

// A descriptor of a pool.
struct Exported {
  int fd = -1;

  explicit Exported(const Pool& pool) {
    REQUIRE(cuMemPoolExportToShareableHandle(&fd, pool.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
            CUDA_SUCCESS);
  }
  ~Exported() { close(fd); }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;

  void* handle() const { return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)); }
};

CUmemoryPool import_of(const Exported& exported) {
  CUmemoryPool pool = nullptr;
  REQUIRE(cuMemPoolImportFromShareableHandle(&pool, exported.handle(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
          CUDA_SUCCESS);
  return pool;
}

std::string hex_of(const CUmemPoolPtrExportData& data) {
  std::string text;
  for (const unsigned char byte : data.reserved) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

}  // namespace

TEST_CASE("another process imports a pool and its pointers, which cost it nothing") {
  const InContext here;
  const Pool pool(shareable());
  const CUdeviceptr address = pool.alloc(12345);
  CUmemPoolPtrExportData data{};
  REQUIRE(cuMemPoolExportPointer(&data, address) == CUDA_SUCCESS);
  const Exported exported(pool);
  REQUIRE(fcntl(exported.fd, F_SETFD, 0) == 0);
  CHECK(output_of({"import-pool", std::to_string(exported.fd), hex_of(data)}) == "0 0 12345 0 0");
  CHECK(pool.used() == 12345);
  CHECK(here.taken() == kChunk);
}

TEST_CASE("an imported pool only gives the exporter's pointers") {
  const InContext here;
  const Pool pool(shareable());
  const Exported exported(pool);
  const CUmemoryPool imported = import_of(exported);
  cuuint64_t value = 1;
  CHECK(cuMemPoolGetAttribute(imported, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value) == CUDA_SUCCESS);
  CHECK(value == 0);
  CHECK(cuMemPoolSetAttribute(imported, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolTrimTo(imported, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceSetMemPool(0, imported) == CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 0;
  CHECK(cuMemAllocFromPoolAsync(&address, 1, imported, nullptr) == CUDA_ERROR_INVALID_VALUE);

  const Pool other(shareable());
  const CUdeviceptr of_pool = pool.alloc(100), of_other = other.alloc(100);
  CUmemPoolPtrExportData data{};
  REQUIRE(cuMemPoolExportPointer(&data, of_other) == CUDA_SUCCESS);
  CHECK(cuMemPoolImportPointer(&address, imported, &data) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemPoolExportPointer(&data, of_pool) == CUDA_SUCCESS);
  CHECK(cuMemPoolImportPointer(&address, imported, &data) == CUDA_SUCCESS);
  CHECK(address != of_pool);
  CUmemoryPool pool_of_address = nullptr;
  CHECK(cuPointerGetAttribute(&pool_of_address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) == CUDA_SUCCESS);
  CHECK(pool_of_address == imported);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(imported) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(imported) == CUDA_ERROR_INVALID_VALUE);
  CHECK(pool.used() == 100);
}

TEST_CASE("a pool that was not made to be shared is not") {
  const InContext here;
  const Pool pool;
  int fd = -1;
  CHECK(cuMemPoolExportToShareableHandle(&fd, pool.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
        CUDA_ERROR_INVALID_VALUE);
  CUmemPoolPtrExportData data{};
  CHECK(cuMemPoolExportPointer(&data, pool.alloc(1)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolExportPointer(&data, here.alloc(1)) == CUDA_ERROR_INVALID_VALUE);
  CUmemoryPool imported = nullptr;
  CHECK(cuMemPoolImportFromShareableHandle(&imported, nullptr, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
        CUDA_ERROR_INVALID_VALUE);
}
