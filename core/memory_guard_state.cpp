#include "core/memory_guard_state.h"

#include <stdexcept>

namespace vramguard {

MemoryGuardState::~MemoryGuardState() = default;

void MemoryGuardState::free(DeviceMemory& memory) {
  if (memory.owner_.get() != this) throw std::invalid_argument("the buffer is another guard's, or empty");
  give_back({memory.address_, memory.bytes_}, memory.on_host_);
  const std::shared_ptr<MemoryGuardState> alive = std::move(memory.owner_);
  memory.owner_ = nullptr;
  memory = {};
}

}  // namespace vramguard
