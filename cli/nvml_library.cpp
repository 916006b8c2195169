#include "cli/nvml_library.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace vramguard {
namespace {

// From nvml.h; the layouts are fixed by the version suffix of the function that takes them.
constexpr int kSuccess = 0, kInsufficientSize = 7, kDriverNotLoaded = 9, kLibraryNotFound = 12;
constexpr unsigned long long kNotAvailable = ~0ULL;

using Device = void*;
struct Memory {
  unsigned long long total, free, used;
};
struct Process {  // of ..._v2 and ..._v3
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct PciInfo {  // of ..._v3
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

constexpr std::size_t kMostProcesses = 8192;

struct Functions {
  int (*init)();
  int (*driver_version)(char*, unsigned);
  int (*count)(unsigned*);
  int (*handle)(unsigned, Device*);
  int (*uuid)(Device, char*, unsigned);
  int (*name)(Device, char*, unsigned);
  int (*pci)(Device, PciInfo*);
  int (*memory)(Device, Memory*);
  int (*processes)(Device, unsigned*, Process*);
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Functions& nvml) {
  return find(library, "nvmlInit_v2", nvml.init) && find(library, "nvmlSystemGetDriverVersion", nvml.driver_version) &&
         find(library, "nvmlDeviceGetCount_v2", nvml.count) &&
         find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle) && find(library, "nvmlDeviceGetUUID", nvml.uuid) &&
         find(library, "nvmlDeviceGetName", nvml.name) && find(library, "nvmlDeviceGetPciInfo_v3", nvml.pci) &&
         find(library, "nvmlDeviceGetMemoryInfo", nvml.memory) &&
         (find(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes) ||
          find(library, "nvmlDeviceGetComputeRunningProcesses_v2", nvml.processes));
}

// Each once: a process is listed for every one of its MIG instances.
std::vector<NvmlProcess> processes_of(const Functions& nvml, Device device) {
  std::vector<Process> list(64);
  unsigned count = 0;
  int result = kInsufficientSize;
  while (result == kInsufficientSize && list.size() <= kMostProcesses) {
    count = static_cast<unsigned>(list.size());
    result = nvml.processes(device, &count, list.data());
    if (result == kInsufficientSize) list.resize(list.size() * 4);
  }
  std::vector<NvmlProcess> processes;
  if (result != kSuccess || count > list.size()) return processes;
  for (unsigned i = 0; i < count; ++i) {
    const auto pid = static_cast<pid_t>(list[i].pid);
    const std::uint64_t bytes = list[i].bytes == kNotAvailable ? kStateUnknown : list[i].bytes;
    NvmlProcess* known = nullptr;
    for (NvmlProcess& other : processes) {
      if (other.pid == pid) known = &other;
    }
    if (known == nullptr) {
      processes.push_back({pid, bytes});
    } else if (bytes != kStateUnknown) {
      known->bytes = known->bytes == kStateUnknown ? bytes : known->bytes + bytes;
    }
  }
  return processes;
}

NvmlDevice describe(const Functions& nvml, unsigned index, Device device) {
  NvmlDevice told;
  told.index = index;
  std::array<char, 96> text{};
  if (nvml.uuid(device, text.data(), text.size()) == kSuccess) told.uuid = text.data();
  if (nvml.name(device, text.data(), text.size()) == kSuccess) told.name = text.data();
  PciInfo pci{};
  if (nvml.pci(device, &pci) == kSuccess) told.pci_bus_id.assign(pci.bus_id, strnlen(pci.bus_id, sizeof pci.bus_id));
  Memory memory{};
  if (nvml.memory(device, &memory) == kSuccess) {
    told.total_bytes = memory.total;
    told.free_bytes = memory.free;
  }
  told.processes = processes_of(nvml, device);
  return told;
}

}  // namespace

NvmlView ask_nvml() {
  NvmlView view;
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  Functions nvml{};
  if (library == nullptr || !find_all(library, nvml)) return view;
  view.answer = NvmlAnswer::Failed;
  const int result = nvml.init();
  if (result == kDriverNotLoaded || result == kLibraryNotFound) view.answer = NvmlAnswer::Missing;
  unsigned count = 0;
  if (result != kSuccess || nvml.count(&count) != kSuccess) return view;

  view.answer = NvmlAnswer::Told;
  std::array<char, 96> version{};
  if (nvml.driver_version(version.data(), version.size()) == kSuccess) view.driver_version = version.data();
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (nvml.handle(i, &device) == kSuccess) view.devices.push_back(describe(nvml, i, device));
  }
  return view;
}

}  // namespace vramguard
