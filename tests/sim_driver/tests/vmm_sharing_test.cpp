#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/vmm_fixture.h"

namespace {

// An exported descriptor that child processes inherit.
struct Exported {
  int fd = -1;
  explicit Exported(CUmemGenericAllocationHandle handle) {
    int closed_on_exec = -1;
    REQUIRE(cuMemExportToShareableHandle(&closed_on_exec, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
            CUDA_SUCCESS);
    fd = dup(closed_on_exec);
    close(closed_on_exec);
  }
  ~Exported() { close(fd); }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
};

CUresult import_from(int fd, CUmemGenericAllocationHandle& handle) {
  return cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

std::vector<std::string> importer(const Exported& exported, const std::string& action = "release") {
  return role({"import", std::to_string(exported.fd), action});
}

}  // namespace

TEST_CASE("importing one's own export gives another handle on the same memory") {
  const InContext here;
  const auto handle = create(4 * kMiB, shareable_memory());
  const Exported exported(handle);
  CUmemGenericAllocationHandle other = 0, third = 0;
  REQUIRE(import_from(exported.fd, other) == CUDA_SUCCESS);
  REQUIRE(import_from(exported.fd, third) == CUDA_SUCCESS);
  CHECK(other != handle);
  CHECK(third != other);
  CHECK(here.taken() == 4 * kMiB);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuMemRelease(third) == CUDA_SUCCESS);
  CHECK(here.taken() == 4 * kMiB);
  CHECK(cuMemRelease(other) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(import_from(exported.fd, other) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("memory that another process imported costs it nothing and stays until it lets go") {
  const InContext here(1);
  const auto handle = create(4 * kMiB, shareable_memory(1));
  const Exported exported(handle);
  Child other(importer(exported), {});
  REQUIRE(other.read_line() == "ready 0 0");
  CHECK(here.taken() == 4 * kMiB);
  CHECK(simctl({"processes", "1"}).find(std::to_string(other.pid())) == std::string::npos);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 4 * kMiB);
  other.close_input();
  CHECK(other.read_line() == "released");
  CHECK(here.taken() == 0);
  other.kill_now();
}

TEST_CASE("an importer that is killed lets go") {
  const InContext here(1);
  const auto handle = create(4 * kMiB, shareable_memory(1));
  const Exported exported(handle);
  Child other(importer(exported), {});
  REQUIRE(other.read_line() == "ready 0 0");
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 4 * kMiB);
  other.kill_now();
  other.wait_for_death();
  CHECK(here.taken() == 0);
}

TEST_CASE("a mapping in the importer holds the memory as a handle does") {
  const InContext here(1);
  const auto handle = create(4 * kMiB, shareable_memory(1));
  const Exported exported(handle);
  Child other(importer(exported, "map"), {});
  REQUIRE(other.read_line() == "ready 0 0");
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 4 * kMiB);
  other.close_input();
  CHECK(other.read_line() == "released");
  CHECK(here.taken() == 0);
  other.kill_now();
}

TEST_CASE("the use of an exporter that dies is gone, whoever still holds its memory") {
  const InContext here(1);
  Child exporter(role({"export", "1", std::to_string(64 * kMiB)}), {});
  const std::string path = exporter.read_line();
  CHECK(here.taken() == 64 * kMiB);
  const int fd = open(path.c_str(), O_RDONLY);
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE(import_from(fd, handle) == CUDA_SUCCESS);
  exporter.kill_now();
  exporter.wait_for_death();
  CHECK(here.taken() == 0);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CHECK(import_from(fd, handle) == CUDA_ERROR_INVALID_VALUE);
  close(fd);
}

TEST_CASE("only what was created for it can be exported, and only what was exported imported") {
  const InContext here;
  const auto handle = create(kPage);
  int fd = -1;
  CHECK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
        CUDA_ERROR_INVALID_VALUE);
  const auto shareable = create(kPage, shareable_memory());
  CHECK(cuMemExportToShareableHandle(&fd, shareable, CU_MEM_HANDLE_TYPE_FABRIC, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemExportToShareableHandle(nullptr, shareable, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuMemRelease(shareable) == CUDA_SUCCESS);
  CUmemGenericAllocationHandle imported = 0;
  CHECK(import_from(-1, imported) == CUDA_ERROR_INVALID_VALUE);
  const int other_file = open("/dev/null", O_RDONLY);
  CHECK(import_from(other_file, imported) == CUDA_ERROR_INVALID_VALUE);
  close(other_file);
  const int zeros = memfd_create("zeros", MFD_CLOEXEC);
  REQUIRE(ftruncate(zeros, 4096) == 0);
  CHECK(import_from(zeros, imported) == CUDA_ERROR_INVALID_VALUE);
  close(zeros);
  CHECK(here.taken() == 0);
  CHECK(cuMemGetHandleForAddressRange(&fd, 0, kPage, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) ==
        CUDA_ERROR_NOT_SUPPORTED);
}
