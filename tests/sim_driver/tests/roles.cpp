#include "tests/sim_driver/tests/roles.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/sim_driver/api.h"
#include "tests/sim_driver/nvml_abi.h"

namespace {

CUcontext make_context(int device = 0) {
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS) std::exit(3);
  return context;
}

void wait_for_end_of_input() {
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) > 0) {
  }
}

// "0 GPU-..,GPU-..": what cuInit returned and the devices that are seen.
int list_devices() {
  std::printf("%d", cuInit(0));
  int count = 0;
  cuDeviceGetCount(&count);
  for (int i = 0; i < count; ++i) {
    char id[32];
    if (cuDeviceGetPCIBusId(id, sizeof id, i) != CUDA_SUCCESS) return 1;
    std::printf(" %s", id);
  }
  std::printf("\n");
  return 0;
}

// Allocates and waits: "ready CODE".
int hold(int device, std::size_t bytes) {
  make_context(device);
  CUdeviceptr address = 0;
  std::printf("ready %d\n", cuMemAlloc_v2(&address, bytes));
  std::fflush(stdout);
  wait_for_end_of_input();
  return 0;
}

// At the end of its input it allocates 2 MiB at a time until refused, prints how many it got, and keeps them.
int grab() {
  make_context();
  std::printf("ready\n");
  std::fflush(stdout);
  wait_for_end_of_input();
  int count = 0;
  CUdeviceptr address = 0;
  while (cuMemAlloc_v2(&address, 2 << 20) == CUDA_SUCCESS) ++count;
  std::printf("%d\n", count);
  std::fflush(stdout);
  pause();
  return 0;
}

// The results of `count` small allocations.
int allocate(int count) {
  make_context();
  for (int i = 0; i < count; ++i) {
    CUdeviceptr address = 0;
    std::printf("%s%d", i ? " " : "", cuMemAlloc_v2(&address, 1000));
  }
  std::printf("\n");
  return 0;
}

int before_init() {
  int count = 0, version = 0;
  const char* text = nullptr;
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  std::printf("%d %d %d %d %d %d\n", cuDeviceGetCount(&count), cuDriverGetVersion(&version),
              cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text),
              cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status), cuInit(1));
  return 0;
}

// What a child of fork() gets, after and before its parent has called cuInit.
int fork_after_init(bool init_first) {
  if (init_first) make_context();
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    int count = 0;
    const int init = cuInit(0);
    std::printf("%d %d\n", init, cuDeviceGetCount(&count));
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Uses memory, then becomes another program that allocates nothing but has a context.
int use_and_exec() {
  make_context();
  CUdeviceptr address = 0;
  if (cuMemAlloc_v2(&address, 64 << 20) != CUDA_SUCCESS) return 1;
  execl("/proc/self/exe", "again", "--role", "hold", "0", "1", nullptr);
  return 127;
}

extern "C" CUresult cuProfilerStart();

int call_what_is_not_simulated() {
  make_context();
  std::printf("%d\n", cuProfilerStart());
  return 0;
}

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

int look_up(const char* name) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  std::printf("%d", cuGetProcAddress_v2(name, &function, 13000, 0, &status));
  std::printf(" %d %d\n", function ? 1 : 0, status);
  return 0;
}

// What NVML lists for a process that has a context: "COUNT BYTES".
int list_by_nvml(const char* library_path) {
  make_context();
  void* library = dlopen(library_path, RTLD_NOW);
  if (!library) return 1;
  reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"))();
  void* device = nullptr;
  reinterpret_cast<int (*)(unsigned int, void**)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"))(0, &device);
  unsigned int count = 1;
  nvmlProcessInfo_t info{};
  const auto list = reinterpret_cast<int (*)(void*, unsigned int*, nvmlProcessInfo_t*)>(
      dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3"));
  if (list(device, &count, &info) != 0) return 1;
  std::printf("%u %llu\n", count, info.usedGpuMemory);
  return 0;
}

// Whether the device shares the host's memory, and what NVML answers to three queries of memory.
int ask_integrated(const char* library_path) {
  make_context();
  void* library = dlopen(library_path, RTLD_NOW);
  if (!library) return 1;
  reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"))();
  void* device = nullptr;
  reinterpret_cast<int (*)(unsigned int, void**)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"))(0, &device);
  int integrated = 7;
  cuDeviceGetAttribute(&integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, 0);
  nvmlMemory_t memory{};
  nvmlMemory_v2_t memory_v2{nvmlMemory_v2, 0, 0, 0, 0};
  unsigned int count = 1;
  nvmlProcessInfo_t info{};
  const auto ask = [&](const char* name, void* out) {
    return reinterpret_cast<int (*)(void*, void*)>(dlsym(library, name))(device, out);
  };
  const auto list = reinterpret_cast<int (*)(void*, unsigned int*, nvmlProcessInfo_t*)>(
      dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3"));
  std::printf("%d %d", integrated, ask("nvmlDeviceGetMemoryInfo", &memory));
  std::printf(" %d %d\n", ask("nvmlDeviceGetMemoryInfo_v2", &memory_v2), list(device, &count, &info));
  return 0;
}

std::size_t used_mib() {
  std::size_t free = 0, total = 0;
  cuMemGetInfo_v2(&free, &total);
  return (total - free) >> 20;
}

// What is used with a context, two modules, one of them, and after that context's end beside a new one.
int load_modules() {
  const CUcontext context = make_context();
  CUmodule first = nullptr, second = nullptr;
  std::printf("%zu", used_mib());
  if (cuModuleLoadData(&first, "image") != CUDA_SUCCESS || cuModuleLoadData(&second, "image") != CUDA_SUCCESS) return 1;
  std::printf(" %zu", used_mib());
  cuModuleUnload(first);
  std::printf(" %zu", used_mib());
  cuCtxDestroy_v2(context);
  make_context();
  std::printf(" %zu\n", used_mib() - 520);
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

int play_role(const std::vector<std::string>& words) {
  const std::string& name = words[0];
  if (name == "devices") return list_devices();
  if (name == "hold") return hold(std::atoi(words[1].c_str()), std::strtoull(words[2].c_str(), nullptr, 10));
  if (name == "grab") return grab();
  if (name == "allocate") return allocate(std::atoi(words[1].c_str()));
  if (name == "before-init") return before_init();
  if (name == "fork") return fork_after_init(words[1] == "after-init");
  if (name == "exec") return use_and_exec();
  if (name == "not-simulated") return call_what_is_not_simulated();
  if (name == "nvml") return list_by_nvml(words[1].c_str());
  if (name == "integrated") return ask_integrated(words[1].c_str());
  if (name == "modules") return load_modules();
  if (name == "export") return export_memory(std::atoi(words[1].c_str()), std::strtoull(words[2].c_str(), nullptr, 10));
  if (name == "import") return import_memory(std::atoi(words[1].c_str()), words[2]);
  if (name == "invented-handles") return use_invented_handles();
  if (name == "import-pool") return import_pool(std::atoi(words[1].c_str()), words[2].c_str());
  if (name == "ipc-open") return open_by_ipc(std::atoi(words[1].c_str()), words[2]);
  if (name == "ipc-share")
    return share_by_ipc(std::atoi(words[1].c_str()), std::strtoull(words[2].c_str(), nullptr, 10));
  if (name == "ipc-event") return open_event_by_ipc(words[1]);
  if (name == "look-up") return look_up(words[1].c_str());
  return 2;
}
