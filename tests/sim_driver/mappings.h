// Physical memory at an address: who may use it, and what is in it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "tests/sim_driver/memory_data.h"
#include "tests/sim_driver/physical_memory.h"

namespace vgsim {

struct Mapping {
  std::shared_ptr<AllocationHandle> handle;
  std::map<CUdevice, CUmemAccess_flags> device_access;
  CUmemAccess_flags host_access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
};

// Mapped memory from `address` on, which may be several mappings in a row. Only of a single one is there data.
// INVALID_VALUE where a part is not mapped, or no device was given the access.
CUresult mapped_range(std::uint64_t address, std::uint64_t bytes, Access access, DataRange& range);

}  // namespace vgsim
