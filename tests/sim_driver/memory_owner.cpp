#include "tests/sim_driver/memory_owner.h"

namespace vgsim {

Allocation& add_owned(std::uint64_t address, std::uint64_t bytes, Device* device, std::shared_ptr<MemoryOwner> owner) {
  Allocation& allocation = driver().allocations[address];
  allocation.address = address;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::Pool;
  allocation.device = device;
  allocation.id = driver().next_id++;
  allocation.owner = std::move(owner);
  return allocation;
}

}  // namespace vgsim
