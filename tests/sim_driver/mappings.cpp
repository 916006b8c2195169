#include "tests/sim_driver/mappings.h"

#include <algorithm>

#include "tests/sim_driver/driver.h"

namespace vgsim {
namespace {

bool allows(const Mapping& mapping, Access access) {
  const int wanted = access == Access::Read ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return std::any_of(mapping.device_access.begin(), mapping.device_access.end(),
                     [&](const auto& device) { return (device.second & wanted) == wanted; });
}

}  // namespace

CUresult mapped_range(std::uint64_t address, std::uint64_t bytes, Access access, DataRange& range) {
  const Allocation* const first = find_allocation(address);
  std::uint64_t left = bytes;
  for (std::uint64_t at = address;;) {
    const Allocation* part = find_allocation(at);
    if (!part || part->kind != MemoryKind::Mapped || !allows(*part->mapping, access)) return CUDA_ERROR_INVALID_VALUE;
    const std::uint64_t here = part->address + part->bytes - at;
    if (left <= here) break;
    left -= here;
    at += here;
  }
  const std::uint64_t offset = address - first->address;
  range.data = nullptr;
  if (bytes <= first->bytes - offset) {
    std::byte* const data = first->mapping->handle->memory->data(access == Access::Write);
    if (data) range.data = data + offset;
  }
  return CUDA_SUCCESS;
}

}  // namespace vgsim
