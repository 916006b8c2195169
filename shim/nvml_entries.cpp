// What NVML shows of a card with a budget: the budget. The same numbers as cuMemGetInfo in a process that uses CUDA;
// nvidia-smi, which does not, sees the budget that a program started in its place would have.
#include "shim/nvml_entries.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <string>

#include "core/device_budget.h"
#include "shim/configuration.h"
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
  find(found->nvmlDeviceGetIndex, "nvmlDeviceGetIndex");
  const NvmlFunctions* expected = nullptr;
  if (published.compare_exchange_strong(expected, found, std::memory_order_acq_rel)) return *found;
  delete found;
  return *expected;
}

namespace nvml_entry {

namespace {

std::string uuid_of(nvmlDevice_t device) {
  char text[96] = "";
  const auto get = nvml_functions().nvmlDeviceGetUUID;
  return get != nullptr && get(device, text, sizeof text) == NVML_SUCCESS ? text : "";
}

GuardedDevice* guarded_device(Guard& guard, const std::string& uuid) {
  for (int i = 0; i < guard.device_count(); ++i) {
    if (guard.device(i)->info.uuid == uuid) return guard.device(i);
  }
  return nullptr;
}

// Where no guard watches the device, its number counts as the program's: what CUDA would make of it, only CUDA knows.
Bytes configured_budget(const GuardConfig& config, nvmlDevice_t device, const std::string& uuid, Bytes total) {
  unsigned int index = 0;
  const auto get = nvml_functions().nvmlDeviceGetIndex;
  const bool known = get != nullptr && get(device, &index) == NVML_SUCCESS;
  return resolve_budget(config, uuid, "", known ? static_cast<int>(index) : -1, total);
}

// What the program may see of a card of which NVML says this; nothing where that is the card itself.
std::optional<VisibleMemory> visible(nvmlDevice_t device, Bytes total, Bytes free) noexcept try {
  const Configuration* read = configuration();
  if (read == nullptr || !read->usable || !shows_budget(read->config, true)) return std::nullopt;
  const std::string uuid = uuid_of(device);
  Guard* guard = vramguard::guard();
  GuardedDevice* guarded = guard != nullptr ? guarded_device(*guard, uuid) : nullptr;
  if (guarded != nullptr) return visible_memory(*guard, *guarded, total, free);
  return narrowed(configured_budget(read->config, device, uuid, total), 0, total, free);
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
