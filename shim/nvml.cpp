#include "shim/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include "shim/driver.h"

#include <array>
#include <atomic>
#include <memory>
#include <new>

namespace vramguard {

namespace {

// From nvml.h; the layouts are fixed by the version suffix of the function that takes them.
using abi::NVML_SUCCESS, abi::nvmlDevice_t, abi::nvmlMemory_t;
constexpr int NVML_ERROR_INSUFFICIENT_SIZE = 7;

struct nvmlProcessInfo_t {  // of ..._v2 and ..._v3
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance, compute_instance;
};
constexpr unsigned long long kNotAvailable = ~0ULL;

constexpr std::size_t kUsualProcesses = 64, kMostProcesses = 8192;

}  // namespace

struct Nvml::Library {
  int (*init)();
  int (*handle_by_uuid)(const char*, nvmlDevice_t*);
  int (*memory)(nvmlDevice_t, nvmlMemory_t*);
  int (*processes)(nvmlDevice_t, unsigned*, nvmlProcessInfo_t*);
};

namespace {

// One for the process, as the library is. Null: not loaded; a forked child inherits it, and then makes no context.
constinit std::atomic<void*> library{nullptr};
constinit std::atomic<bool> unavailable{false};

template <typename Function>
bool find(void* handle, const char* name, Function& function) {
  const DriverCall ours;  // what we are given is the library's own function, not our entry
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

std::optional<unsigned long long> memory_of(const nvmlProcessInfo_t* list, unsigned count, unsigned pid) {
  unsigned long long sum = 0;  // a process is listed once for each of its MIG instances
  for (unsigned i = 0; i < count; ++i) {
    if (list[i].pid == pid && list[i].used_gpu_memory != kNotAvailable) sum += list[i].used_gpu_memory;
  }
  return sum == 0 ? std::nullopt : std::optional(sum);
}

}  // namespace

Nvml::Nvml(const std::vector<DeviceInfo>& devices) {
  for (const DeviceInfo& device : devices) uuids_.push_back(device.uuid);
}

Nvml::Library* Nvml::loaded() noexcept { return static_cast<Library*>(library.load(std::memory_order_acquire)); }

void Nvml::prepare() noexcept {
  if (loaded() != nullptr || unavailable.load(std::memory_order_relaxed)) return;
  std::unique_ptr<Library> found(new (std::nothrow) Library);
  void* handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const bool usable = found != nullptr && handle != nullptr && find(handle, "nvmlInit_v2", found->init) &&
                      find(handle, "nvmlDeviceGetHandleByUUID", found->handle_by_uuid) &&
                      find(handle, "nvmlDeviceGetMemoryInfo", found->memory) &&
                      (find(handle, "nvmlDeviceGetComputeRunningProcesses_v3", found->processes) ||
                       find(handle, "nvmlDeviceGetComputeRunningProcesses_v2", found->processes)) &&
                      found->init() == NVML_SUCCESS;
  if (!usable) {
    unavailable.store(true, std::memory_order_relaxed);
    return;
  }
  void* expected = nullptr;
  if (library.compare_exchange_strong(expected, found.get(), std::memory_order_acq_rel)) found.release();
}

void* Nvml::handle(int ordinal) noexcept {
  const Library* nvml = loaded();
  if (nvml == nullptr || ordinal < 0 || static_cast<std::size_t>(ordinal) >= uuids_.size()) return nullptr;
  nvmlDevice_t device = nullptr;
  return nvml->handle_by_uuid(uuids_[ordinal].c_str(), &device) == NVML_SUCCESS ? device : nullptr;
}

std::optional<Bytes> Nvml::bytes_of_this_process(int ordinal) noexcept {
  const auto device = static_cast<nvmlDevice_t>(handle(ordinal));
  if (device == nullptr) return std::nullopt;
  const auto pid = static_cast<unsigned>(getpid());
  std::array<nvmlProcessInfo_t, kUsualProcesses> few;
  unsigned count = few.size();
  int result = loaded()->processes(device, &count, few.data());
  if (result == NVML_SUCCESS) return memory_of(few.data(), count, pid);
  if (result != NVML_ERROR_INSUFFICIENT_SIZE) return std::nullopt;
  const std::unique_ptr<nvmlProcessInfo_t[]> many(new (std::nothrow) nvmlProcessInfo_t[kMostProcesses]);
  if (many == nullptr) return std::nullopt;
  count = kMostProcesses;
  result = loaded()->processes(device, &count, many.get());
  return result == NVML_SUCCESS ? memory_of(many.get(), count, pid) : std::nullopt;
}

std::optional<Bytes> Nvml::free_bytes(int ordinal) noexcept {
  const auto device = static_cast<nvmlDevice_t>(handle(ordinal));
  nvmlMemory_t memory{};
  if (device == nullptr || loaded()->memory(device, &memory) != NVML_SUCCESS) return std::nullopt;
  return memory.free;
}

}  // namespace vramguard
