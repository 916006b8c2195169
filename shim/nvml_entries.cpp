// What NVML shows of a card with a budget: the budget. The same numbers as cuMemGetInfo in a process that uses CUDA;
// nvidia-smi, which does not, sees the budget that a program started in its place would have, with what its group uses.
#include "shim/nvml_entries.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "core/device_budget.h"
#include "core/device_name.h"
#include "core/state/group_file.h"
#include "core/undisturbed.h"
#include "shim/configuration.h"
#include "shim/cuda_ordinal.h"
#include "shim/driver.h"
#include "shim/process.h"
#include "shim/visible_memory.h"

namespace vramguard {

namespace {

constinit std::atomic<const NvmlFunctions*> published{nullptr};

template <typename Function>
void find(Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(preload().chain_symbol(name));
}

}  // namespace

// As for the driver: each thread looks up for itself, the first publishes.
const NvmlFunctions& nvml_functions() noexcept {
  static constinit const NvmlFunctions nothing;
  if (const NvmlFunctions* known = published.load(std::memory_order_acquire)) return *known;
  NvmlFunctions* found = new (std::nothrow) NvmlFunctions;
  if (found == nullptr) return nothing;
#define VG_DRIVER_FUNCTION(symbol, since, parameters)
#define VG_NVML_FUNCTION(symbol, since, parameters) find(found->symbol, #symbol);
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
  find(found->nvmlDeviceGetUUID, "nvmlDeviceGetUUID");
  find(found->nvmlDeviceGetName, "nvmlDeviceGetName");
  find(found->nvmlDeviceGetPciInfo_v3, "nvmlDeviceGetPciInfo_v3");
  find(found->nvmlDeviceGetCount_v2, "nvmlDeviceGetCount_v2");
  find(found->nvmlDeviceGetHandleByIndex_v2, "nvmlDeviceGetHandleByIndex_v2");
  const NvmlFunctions* expected = nullptr;
  if (published.compare_exchange_strong(expected, found, std::memory_order_acq_rel)) return *found;
  delete found;
  return *expected;
}

namespace nvml_entry {

namespace {

using TextFunction = nvmlReturn_t (*NvmlFunctions::*)(nvmlDevice_t, char*, unsigned int);

// "" where NVML does not say.
std::string text_of(TextFunction function, nvmlDevice_t device) {
  char text[96] = "";
  const auto get = nvml_functions().*function;
  return get != nullptr && get(device, text, sizeof text) == NVML_SUCCESS ? text : "";
}

std::string uuid_of(nvmlDevice_t device) { return text_of(&NvmlFunctions::nvmlDeviceGetUUID, device); }

std::string pci_of(nvmlDevice_t device) {
  nvmlPciInfo_t info{};
  const auto get = nvml_functions().nvmlDeviceGetPciInfo_v3;
  return get != nullptr && get(device, &info) == NVML_SUCCESS ? info.busId : "";
}

// One without a UUID or a model where NVML does not give it out.
std::vector<ListedDevice> list_devices() {
  const NvmlFunctions& nvml = nvml_functions();
  std::vector<ListedDevice> listed;
  unsigned int count = 0;
  if (nvml.nvmlDeviceGetCount_v2 == nullptr || nvml.nvmlDeviceGetHandleByIndex_v2 == nullptr ||
      nvml.nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS) {
    return listed;
  }
  for (unsigned int i = 0; i < count; ++i) {
    nvmlDevice_t device = nullptr;
    const bool given = nvml.nvmlDeviceGetHandleByIndex_v2(i, &device) == NVML_SUCCESS;
    listed.push_back(given ? ListedDevice{uuid_of(device), text_of(&NvmlFunctions::nvmlDeviceGetName, device)}
                           : ListedDevice{});
  }
  return listed;
}

// Listing the devices may wake them: only for who names them by number.
bool names_by_number(const GuardConfig& config) {
  return std::ranges::any_of(config.device_budgets, [](const DeviceBudget& budget) {
    const auto name = parse_device_name(budget.device);
    return name && name->kind == DeviceNameKind::Ordinal;
  });
}

GuardedDevice* guarded_device(Guard& guard, const std::string& uuid) {
  for (int i = 0; i < guard.device_count(); ++i) {
    if (guard.device(i)->info.uuid == uuid) return guard.device(i);
  }
  return nullptr;
}

// Of a device that no guard watches. One that is there and does not watch it has asked CUDA: it has no number here.
Bytes configured_budget(const Guard* guard, const GuardConfig& config, nvmlDevice_t device, const std::string& uuid,
                        Bytes total) {
  int ordinal = -1;
  if (guard == nullptr && names_by_number(config)) {
    ordinal = cuda_ordinal(uuid, list_devices(), std::getenv("CUDA_VISIBLE_DEVICES"), std::getenv("CUDA_DEVICE_ORDER"));
  }
  return resolve_budget(config, uuid, pci_of(device), ordinal, total);
}

// Of a process that shares its budget with others, but has no guard: nvidia-smi beside the members of a group.
std::optional<GroupUse> use_of_own_group(const GuardConfig& config, const std::string& uuid) {
  if (config.group.empty()) return std::nullopt;
  const Undisturbed undisturbed;
  return use_of_group(state_folder_path(config.state_dir, geteuid()), config.group, uuid);
}

// What the program may see of a card of which NVML says this; nothing where that is the card itself.
std::optional<VisibleMemory> visible(nvmlDevice_t device, Bytes total, Bytes free) noexcept try {
  const Configuration* read = configuration();
  if (read == nullptr || !read->usable || !shows_budget(read->config, true)) return std::nullopt;
  const std::string uuid = uuid_of(device);
  Guard* guard = vramguard::guard();
  GuardedDevice* guarded = guard != nullptr ? guarded_device(*guard, uuid) : nullptr;
  if (guarded != nullptr) return visible_memory(*guard, *guarded, total, free);
  const GroupUse group = use_of_own_group(read->config, uuid).value_or(GroupUse{0, 0});
  const Bytes own = configured_budget(guard, read->config, device, uuid, total);
  const Bytes budget = group.budget != 0 ? capped(read->config, group.budget, total) : own;
  return narrowed(budget, group.used, total, free);
} catch (...) {
  return std::nullopt;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const nvmlReturn_t result = nvml_functions().nvmlDeviceGetMemoryInfo(device, memory);
  if (result != NVML_SUCCESS || memory == nullptr) return result;
  if (const auto seen = visible(device, memory->total, memory->free)) {
    *memory = {seen->total, seen->free, seen->total - seen->free};
  }
  return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  const nvmlReturn_t result = nvml_functions().nvmlDeviceGetMemoryInfo_v2(device, memory);
  if (result != NVML_SUCCESS || memory == nullptr) return result;
  if (const auto seen = visible(device, memory->total, memory->free)) {
    *memory = {memory->version, seen->total, 0, seen->free, seen->total - seen->free};
  }
  return result;
}

}  // namespace nvml_entry

}  // namespace vramguard
