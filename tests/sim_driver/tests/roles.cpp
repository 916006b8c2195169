#include "tests/sim_driver/tests/roles.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/sim_driver/nvml_abi.h"
#include "tests/sim_driver/tests/role_steps.h"

namespace {

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
  if (name == "look-up") return look_up(words[1].c_str());
  return play_sharing_role(words).value_or(2);
}
