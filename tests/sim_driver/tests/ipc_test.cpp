#include <catch2/catch.hpp>

#include <cstring>
#include <string>

#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/context_fixture.h"

namespace {

std::string hex(const void* data, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<const unsigned char*>(data)[i]);
    text += two;
  }
  return text;
}

std::string handle_of(CUdeviceptr address) {
  CUipcMemHandle handle{};
  REQUIRE(cuIpcGetMemHandle(&handle, address) == CUDA_SUCCESS);
  return hex(handle.reserved, sizeof handle.reserved);
}

CUipcMemHandle from_hex(const std::string& text) {
  CUipcMemHandle handle{};
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i)
    handle.reserved[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return handle;
}

}  // namespace

TEST_CASE("memory opened from another process costs the opener nothing") {
  const InContext here(1);
  const CUdeviceptr address = here.alloc(10 * kMiB);
  // Opened twice it has one address, which cuMemFree refuses; closed twice it is gone.
  Child other(role({"ipc-open", "1", handle_of(address + 5)}), {});
  CHECK(other.read_line() == "opened 0 0 same 1 size 10485760 device 1 memset 0 free 1 close 0 0 1");
  CHECK(here.taken() == (10 + 520) * kMiB);
}

TEST_CASE("a process cannot open its own memory, nor what was never shared") {
  const InContext here;
  const CUdeviceptr address = here.alloc(1000);
  CUipcMemHandle handle{};
  CUdeviceptr opened = 0;
  REQUIRE(cuIpcGetMemHandle(&handle, address) == CUDA_SUCCESS);
  CHECK(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuIpcOpenMemHandle_v2(&opened, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  handle.reserved[0] ^= 1;
  CHECK(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcGetMemHandle(&handle, 12345) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcGetMemHandle(nullptr, address) == CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr managed = 0;
  REQUIRE(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  CHECK(cuIpcGetMemHandle(&handle, managed) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcCloseMemHandle(address) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("opened memory ends with its context, and that of a dead process is not opened again") {
  Child exporter(role({"ipc-share", "0", "1000"}), {});
  const CUipcMemHandle handle = from_hex(exporter.read_line());
  CUdeviceptr opened = 0;
  {
    const InContext here;
    REQUIRE(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
  }
  CHECK(cuIpcCloseMemHandle(opened) == CUDA_ERROR_INVALID_VALUE);
  const InContext here;
  REQUIRE(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  CHECK(cuMemGetAddressRange_v2(&base, &bytes, opened + 999) == CUDA_SUCCESS);
  CHECK(base == opened);
  CHECK(cuIpcCloseMemHandle(opened) == CUDA_SUCCESS);
  exporter.kill_now();
  exporter.wait_for_death();
  CHECK(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("events made for it are opened in another process") {
  const InContext here;
  CUevent plain = nullptr, shared = nullptr, opened = nullptr;
  REQUIRE(cuEventCreate(&plain, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&shared, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  CUipcEventHandle handle{};
  CHECK(cuIpcGetEventHandle(&handle, plain) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuIpcGetEventHandle(&handle, nullptr) == CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(cuIpcGetEventHandle(&handle, shared) == CUDA_SUCCESS);
  CHECK(cuIpcOpenEventHandle(&opened, handle) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(output_of({"ipc-event", hex(handle.reserved, sizeof handle.reserved)}) == "0 0 0");
  CHECK(cuIpcOpenEventHandle(&opened, CUipcEventHandle{}) == CUDA_ERROR_INVALID_VALUE);
}
