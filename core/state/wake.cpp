#include "core/state/wake.h"

#include <atomic>

#include "core/futex.h"
#include "core/state/process_state_file.h"
#include "core/state/shared_file.h"

namespace vramguard {

void wake(ControlBlock& control) noexcept {
  if (std::atomic_ref(control.wake).exchange(kWoken) == kAsleep) futex_wake_all(control.wake, FutexScope::Shared);
}

bool wake_process(const std::string& folder, const std::string& name) noexcept try {
  const auto mapped = map_shared_file(folder + "/" + name + kControlSuffix, sizeof(ControlBlock));
  void* const* memory = std::get_if<void*>(&mapped);
  if (memory == nullptr) return false;
  wake(*static_cast<ControlBlock*>(*memory));
  unmap(*memory, sizeof(ControlBlock));
  return true;
} catch (...) {
  return false;
}

}  // namespace vramguard
