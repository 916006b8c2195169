#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/sim_driver/identity.h"
#include "tests/sim_driver/nvml_call.h"
#include "tests/sim_driver/shared_state.h"

// Every device of the machine in physical order: CUDA_VISIBLE_DEVICES does not count here.
namespace vgsim {
namespace {

constexpr unsigned int kNoInstance = 0xffffffff;
std::atomic<int> init_count{0};

nvmlReturn_t init() {
  SharedState* state = shared_state();
  if (!state) return NVML_ERROR_UNKNOWN;
  state->configure(environment().devices);
  ++init_count;
  return NVML_SUCCESS;
}

nvmlReturn_t shutdown() {
  --init_count;
  return NVML_SUCCESS;
}

nvmlReturn_t put_handle(int index, nvmlDevice_t* out) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  *out = reinterpret_cast<nvmlDevice_t>(static_cast<std::uintptr_t>(index) + 1);
  return NVML_SUCCESS;
}

template <class Matches>
nvmlReturn_t find_handle(nvmlDevice_t* out, Matches matches) {
  for (int i = 0; i < shared_state()->device_count(); ++i) {
    if (matches(device_identity(i))) return put_handle(i, out);
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t get_count(unsigned int* out) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  *out = static_cast<unsigned int>(shared_state()->device_count());
  return NVML_SUCCESS;
}

nvmlReturn_t by_index(unsigned int index, nvmlDevice_t* out) {
  if (index >= static_cast<unsigned int>(shared_state()->device_count())) return NVML_ERROR_INVALID_ARGUMENT;
  return put_handle(static_cast<int>(index), out);
}

nvmlReturn_t by_uuid(const char* uuid, nvmlDevice_t* out) {
  if (!uuid) return NVML_ERROR_INVALID_ARGUMENT;
  return find_handle(out, [&](const DeviceIdentity& identity) { return identity.uuid_text == uuid; });
}

// NVML writes the domain with eight digits, CUDA with four; either is taken.
nvmlReturn_t by_pci(const char* id, nvmlDevice_t* out) {
  if (!id) return NVML_ERROR_INVALID_ARGUMENT;
  unsigned int domain = 0, bus = 0, slot = 0, function = 0;
  if (std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) return NVML_ERROR_INVALID_ARGUMENT;
  return find_handle(out, [&](const DeviceIdentity& identity) {
    return domain == 0 && slot == 0 && static_cast<unsigned int>(identity.pci_bus) == bus;
  });
}

nvmlReturn_t get_index(nvmlDevice_t device, unsigned int* out) {
  const int index = index_of(device);
  if (index < 0 || !out) return NVML_ERROR_INVALID_ARGUMENT;
  *out = static_cast<unsigned int>(index);
  return NVML_SUCCESS;
}

nvmlReturn_t get_uuid(nvmlDevice_t device, char* out, unsigned int length) {
  const int index = index_of(device);
  return index < 0 ? NVML_ERROR_INVALID_ARGUMENT : put_text(device_identity(index).uuid_text, out, length);
}

nvmlReturn_t get_name(nvmlDevice_t device, char* out, unsigned int length) {
  const int index = index_of(device);
  return index < 0 ? NVML_ERROR_INVALID_ARGUMENT : put_text(model_of(index), out, length);
}

template <class Memory>
nvmlReturn_t memory_info(nvmlDevice_t device, Memory* out) {
  const int index = index_of(device);
  if (index < 0 || !out) return NVML_ERROR_INVALID_ARGUMENT;
  if (environment().integrated) return NVML_ERROR_NOT_SUPPORTED;
  const DeviceUse use = shared_state()->use(index);
  out->total = use.total;
  out->used = use.used;
  out->free = use.total - std::min(use.total, use.used);
  return NVML_SUCCESS;
}

nvmlReturn_t memory_info_v2(nvmlDevice_t device, nvmlMemory_v2_t* out) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (out->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  out->reserved = 0;
  return memory_info(device, out);
}

void put_instances(nvmlProcessInfo_v1_t&) {}
void put_instances(nvmlProcessInfo_v2_t& info) { info.gpuInstanceId = info.computeInstanceId = kNoInstance; }

// The neighbour is not listed: it stands for processes of other containers.
template <class Info>
nvmlReturn_t processes(nvmlDevice_t device, unsigned int* count, Info* infos) {
  const int index = index_of(device);
  if (index < 0 || !count) return NVML_ERROR_INVALID_ARGUMENT;
  if (environment().integrated) return NVML_ERROR_NOT_SUPPORTED;
  std::vector<ProcessUse> list;
  if (environment().nvml_mode != "hidden") list = shared_state()->processes(index);
  const unsigned int room = *count;
  *count = static_cast<unsigned int>(list.size());
  if (list.size() > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (!list.empty() && !infos) return NVML_ERROR_INVALID_ARGUMENT;
  for (std::size_t i = 0; i < list.size(); ++i) {
    infos[i].pid = static_cast<unsigned int>(list[i].pid);
    infos[i].usedGpuMemory = environment().nvml_mode == "zero" ? 0 : list[i].bytes;
    put_instances(infos[i]);
  }
  return NVML_SUCCESS;
}

nvmlReturn_t cuda_version(int* out) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  *out = 13000;
  return NVML_SUCCESS;
}

const char* text_of(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED:
      return "Already Initialized";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument version mismatch";
    case NVML_ERROR_UNKNOWN:
      return "Unknown Error";
  }
  return "Unknown Error";
}

}  // namespace

bool is_nvml_initialised() { return init_count.load() > 0; }

int index_of(nvmlDevice_t device) {
  const auto number = reinterpret_cast<std::uintptr_t>(device);
  return number >= 1 && number <= static_cast<std::uintptr_t>(shared_state()->device_count())
             ? static_cast<int>(number) - 1
             : -1;
}

nvmlReturn_t put_text(const std::string& text, char* out, unsigned int length) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (length <= text.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

}  // namespace vgsim

using namespace vgsim;

VGSIM_NVML(nvmlInit, Nothing, (), init())
VGSIM_NVML(nvmlInit_v2, Nothing, (), init())
VGSIM_NVML(nvmlInitWithFlags, Nothing, (unsigned int), init())
VGSIM_NVML(nvmlShutdown, Init, (), shutdown())
VGSIM_NVML(nvmlSystemGetDriverVersion, Init, (char* out, unsigned int length), put_text("580.00-sim", out, length))
VGSIM_NVML(nvmlSystemGetCudaDriverVersion, Nothing, (int* out), cuda_version(out))
VGSIM_NVML(nvmlSystemGetCudaDriverVersion_v2, Nothing, (int* out), cuda_version(out))
VGSIM_NVML(nvmlDeviceGetCount, Init, (unsigned int* out), get_count(out))
VGSIM_NVML(nvmlDeviceGetCount_v2, Init, (unsigned int* out), get_count(out))
VGSIM_NVML(nvmlDeviceGetHandleByIndex, Init, (unsigned int index, nvmlDevice_t* out), by_index(index, out))
VGSIM_NVML(nvmlDeviceGetHandleByIndex_v2, Init, (unsigned int index, nvmlDevice_t* out), by_index(index, out))
VGSIM_NVML(nvmlDeviceGetHandleByUUID, Init, (const char* uuid, nvmlDevice_t* out), by_uuid(uuid, out))
VGSIM_NVML(nvmlDeviceGetHandleByPciBusId, Init, (const char* id, nvmlDevice_t* out), by_pci(id, out))
VGSIM_NVML(nvmlDeviceGetHandleByPciBusId_v2, Init, (const char* id, nvmlDevice_t* out), by_pci(id, out))
VGSIM_NVML(nvmlDeviceGetUUID, Init, (nvmlDevice_t device, char* out, unsigned int length),
           get_uuid(device, out, length))
VGSIM_NVML(nvmlDeviceGetIndex, Init, (nvmlDevice_t device, unsigned int* out), get_index(device, out))
VGSIM_NVML(nvmlDeviceGetName, Init, (nvmlDevice_t device, char* out, unsigned int length),
           get_name(device, out, length))
VGSIM_NVML(nvmlDeviceGetMemoryInfo, Init, (nvmlDevice_t device, nvmlMemory_t* out), memory_info(device, out))
VGSIM_NVML(nvmlDeviceGetMemoryInfo_v2, Init, (nvmlDevice_t device, nvmlMemory_v2_t* out), memory_info_v2(device, out))
VGSIM_NVML(nvmlDeviceGetComputeRunningProcesses, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos), processes(device, count, infos))
VGSIM_NVML(nvmlDeviceGetComputeRunningProcesses_v2, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos), processes(device, count, infos))
VGSIM_NVML(nvmlDeviceGetComputeRunningProcesses_v3, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos), processes(device, count, infos))

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(nvmlReturn_t result) {
  return text_of(result);
}
