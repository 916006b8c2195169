// Roles of processes that share memory.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/sim_driver/tests/role_steps.h"
#include "tests/sim_driver/tests/roles.h"

namespace {

unsigned char byte_of(const char* hex) {
  char digits[3] = {hex[0], hex[1], '\0'};
  return static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
}

// Imports a pool from an inherited descriptor and a pointer of it: the results, the bytes of the allocation, what this
// process then uses beside its context, and the result of the free.
int import_pool(int fd, const char* hex) {
  make_context();
  std::size_t before = 0, after = 0, bytes = 0;
  cuMemGetInfo_v2(&before, nullptr);
  CUmemoryPool pool = nullptr;
  std::printf("%d", cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemPoolPtrExportData data{};
  for (std::size_t i = 0; i < sizeof data.reserved; ++i) data.reserved[i] = byte_of(hex + 2 * i);
  CUdeviceptr address = 0;
  std::printf(" %d", cuMemPoolImportPointer(&address, pool, &data));
  cuMemGetAddressRange_v2(nullptr, &bytes, address);
  cuMemGetInfo_v2(&after, nullptr);
  std::printf(" %zu %zu %d\n", bytes, before - after, cuMemFreeAsync(address, nullptr));
  return 0;
}

CUmemAllocationProp shareable_memory(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

// Prints the path of an exported descriptor, and keeps the memory.
int export_memory(int device, std::size_t bytes) {
  const CUmemAllocationProp prop = shareable_memory(device);
  CUmemGenericAllocationHandle handle = 0;
  int fd = -1;
  if (cuInit(0) != CUDA_SUCCESS || cuMemCreate(&handle, bytes, &prop, 0) != CUDA_SUCCESS) return 1;
  if (cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS) return 1;
  std::printf("/proc/%d/fd/%d\n", getpid(), fd);
  std::fflush(stdout);
  wait_for_end_of_input();
  return 0;
}

// Imports a descriptor, and maps it or not: "ready CODE CODE". Holds it until the end of its input: "released".
int import_memory(int fd, const std::string& action) {
  if (cuInit(0) != CUDA_SUCCESS) return 1;
  CUmemGenericAllocationHandle handle = 0;
  const int imported = cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUdeviceptr address = 0;
  int mapped = 0;
  if (action == "map") {
    cuMemAddressReserve(&address, 4 << 20, 0, 0, 0);
    mapped = cuMemMap(address, 4 << 20, 0, handle, 0);
    cuMemRelease(handle);
  }
  std::printf("ready %d %d\n", imported, mapped);
  std::fflush(stdout);
  wait_for_end_of_input();
  if (action == "map" ? cuMemUnmap(address, 4 << 20) : cuMemRelease(handle)) return 1;
  std::printf("released\n");
  std::fflush(stdout);
  pause();
  return 0;
}

// Calls with handles that nobody gave out, and with one that is released.
int use_invented_handles() {
  const CUmemAllocationProp prop = shareable_memory(0);
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuMemAddressReserve(&address, 2 << 20, 0, 0, 0) != CUDA_SUCCESS) return 1;
  std::printf("%d", cuMemRelease(0x1234));
  std::printf(" %d", cuMemMap(address, 2 << 20, 0, 0xdeadbeef000, 0));
  if (cuMemCreate(&handle, 2 << 20, &prop, 0) != CUDA_SUCCESS) return 1;
  std::printf(" %d", cuMemRelease(handle));
  std::printf(" %d", cuMemRelease(handle));
  std::printf(" %d\n", cuMemRelease(handle + 1));
  return 0;
}

template <class Handle>
Handle from_hex(const std::string& text) {
  Handle handle{};
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i)
    handle.reserved[i] = static_cast<char>(std::strtol(text.substr(2 * i, 2).c_str(), nullptr, 16));
  return handle;
}

// Opens memory twice, tries it, closes it three times.
int open_by_ipc(int device, const std::string& text) {
  make_context(device);
  const auto handle = from_hex<CUipcMemHandle>(text);
  CUdeviceptr first = 0, second = 0;
  std::printf("opened %d", cuIpcOpenMemHandle_v2(&first, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  std::printf(" %d", cuIpcOpenMemHandle_v2(&second, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  std::size_t bytes = 0;
  int ordinal = -1;
  cuMemGetAddressRange_v2(nullptr, &bytes, first);
  cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, first);
  std::printf(" same %d size %zu device %d", first == second, bytes, ordinal);
  std::printf(" memset %d free %d", cuMemsetD8_v2(first, 1, bytes), cuMemFree_v2(first));
  std::printf(" close %d", cuIpcCloseMemHandle(first));
  std::printf(" %d", cuIpcCloseMemHandle(first));
  std::printf(" %d", cuIpcCloseMemHandle(first));
  std::printf("\n");
  std::fflush(stdout);
  wait_for_end_of_input();
  return 0;
}

// Prints the handle of an allocation and keeps it.
int share_by_ipc(int device, std::size_t bytes) {
  make_context(device);
  CUdeviceptr address = 0;
  CUipcMemHandle handle{};
  if (cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS || cuIpcGetMemHandle(&handle, address) != CUDA_SUCCESS) return 1;
  for (const char byte : handle.reserved) std::printf("%02x", static_cast<unsigned char>(byte));
  std::printf("\n");
  std::fflush(stdout);
  wait_for_end_of_input();
  return 0;
}

int open_event_by_ipc(const std::string& text) {
  make_context();
  CUevent event = nullptr;
  std::printf("%d", cuIpcOpenEventHandle(&event, from_hex<CUipcEventHandle>(text)));
  std::printf(" %d", cuStreamWaitEvent(nullptr, event, 0));
  std::printf(" %d\n", cuEventDestroy_v2(event));
  return 0;
}

}  // namespace

std::optional<int> play_sharing_role(const std::vector<std::string>& words) {
  const std::string& name = words[0];
  if (name == "export") return export_memory(std::atoi(words[1].c_str()), std::strtoull(words[2].c_str(), nullptr, 10));
  if (name == "import") return import_memory(std::atoi(words[1].c_str()), words[2]);
  if (name == "invented-handles") return use_invented_handles();
  if (name == "import-pool") return import_pool(std::atoi(words[1].c_str()), words[2].c_str());
  if (name == "ipc-open") return open_by_ipc(std::atoi(words[1].c_str()), words[2]);
  if (name == "ipc-share")
    return share_by_ipc(std::atoi(words[1].c_str()), std::strtoull(words[2].c_str(), nullptr, 10));
  if (name == "ipc-event") return open_event_by_ipc(words[1]);
  return std::nullopt;
}
