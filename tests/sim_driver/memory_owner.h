// Who gets stream-ordered memory back when it is freed: a memory pool or a graph.
#pragma once

#include "tests/sim_driver/driver.h"

namespace vgsim {

// Held by each of its allocations, so it lives until the last is freed. Guarded by DriverLock.
class MemoryOwner {
 public:
  virtual ~MemoryOwner() = default;
  virtual void take_back(const Allocation& allocation) = 0;
  // What cuPointerGetAttribute says; NULL where there is no pool.
  virtual CUmemoryPool pool_handle() { return nullptr; }
};

// A live allocation of `owner`; without a device it lies on the host.
Allocation& add_owned(std::uint64_t address, std::uint64_t bytes, Device* device, std::shared_ptr<MemoryOwner> owner);

}  // namespace vgsim
