#include "core/memory_error.h"

#include <algorithm>
#include <cstdint>

namespace vramguard {

namespace {

std::string out_of_budget(Bytes requested, Bytes missing, Bytes used, Bytes reserved, Bytes budget) {
  std::string text = format_bytes(requested) + " do not fit into the budget: " + format_bytes(used) + " of " +
                     format_bytes(budget) + " are used";
  if (reserved > 0) text += " and " + format_bytes(reserved) + " reserved";
  return text + ", " + format_bytes(missing) +
         " are missing; free something, register a hook that does, or raise the budget (set_budget)";
}

std::string out_of_device_memory(Bytes requested, std::optional<Bytes> device_free) {
  std::string text = "the device has no room for " + format_bytes(requested);
  if (device_free) text += ", " + format_bytes(*device_free) + " are free";
  return text +
         "; free something, wait for other programs (WaitAndRetry), use host memory (Spill), or hold memory "
         "from the start (reserve_bytes)";
}

}  // namespace

MemoryError::~MemoryError() = default;
BudgetExceeded::~BudgetExceeded() = default;
OutOfDeviceMemory::~OutOfDeviceMemory() = default;
RequestTooLarge::~RequestTooLarge() = default;
DeviceError::~DeviceError() = default;

BudgetExceeded::BudgetExceeded(Bytes requested, Bytes missing, Bytes used, Bytes reserved, Bytes budget)
    : MemoryError(out_of_budget(requested, missing, used, reserved, budget), requested),
      missing_(missing),
      used_(used),
      budget_(budget) {}

OutOfDeviceMemory::OutOfDeviceMemory(Bytes requested, std::optional<Bytes> device_free)
    : MemoryError(out_of_device_memory(requested, device_free), requested),
      missing_(requested - std::min(requested, device_free.value_or(0))),
      device_free_(device_free) {}

RequestTooLarge::RequestTooLarge(Bytes count, Bytes element_bytes)
    : MemoryError(std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                      " bytes are more than 64 bits can count; is the count right?",
                  UINT64_MAX) {}

}  // namespace vramguard
