#include <iterator>

#include "tests/sim_driver/address_ranges.h"
#include "tests/sim_driver/call.h"
#include "tests/sim_driver/mappings.h"

namespace vgsim {
namespace {

constexpr std::uint64_t kHostPageBytes = 4096;
constexpr std::uint64_t kFirstRangeAddress = 0x3000'0000'0000ULL;  // above the linear memory of all devices
constexpr std::uint64_t kRangeAddresses = 1ULL << 45;

AddressRanges& ranges() {
  static auto* const all = new AddressRanges(kFirstRangeAddress / kPageBytes, kRangeAddresses / kPageBytes);
  return *all;
}

using Iterator = std::map<std::uint64_t, Allocation>::iterator;

// The first mapping that ends after `address`.
Iterator mapping_from(std::uint64_t address) {
  auto& allocations = driver().allocations;
  const auto next = allocations.lower_bound(address);
  if (next == allocations.begin()) return next;
  const auto before = std::prev(next);
  return before->second.address + before->second.bytes > address ? before : next;
}

// Calls visit(mapping) for all mappings that begin before `end`. False where one crosses an end of the range.
template <class Visit>
bool for_mappings(std::uint64_t address, std::uint64_t end, Visit visit) {
  const auto end_of_all = driver().allocations.end();
  for (auto it = mapping_from(address); it != end_of_all && it->first < end;) {
    const auto next = std::next(it);
    if (it->first < address || it->first + it->second.bytes > end) return false;
    visit(it);
    it = next;
  }
  return true;
}

CUresult reserve(CUdeviceptr* out, std::size_t bytes, std::size_t alignment, unsigned long long flags) {
  if (!out || flags != 0 || bytes == 0 || bytes % kHostPageBytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > kRangeAddresses || alignment > kRangeAddresses) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto address = ranges().reserve(bytes, alignment);
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = *address;
  return CUDA_SUCCESS;
}

bool is_mapped_within(std::uint64_t address, std::uint64_t bytes) {
  const auto first = mapping_from(address);
  return first != driver().allocations.end() && first->first < address + bytes;
}

CUresult free_range(CUdeviceptr address, std::size_t bytes) {
  if (!ranges().contains(address, bytes) || is_mapped_within(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return ranges().release(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult map(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle value,
             unsigned long long flags) {
  const auto handle = find_handle(value);
  if (!handle || flags != 0 || offset != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0 || bytes % kPageBytes != 0 || bytes > handle->memory->bytes()) return CUDA_ERROR_INVALID_VALUE;
  if (address % kPageBytes != 0 || !ranges().contains(address, bytes) || is_mapped_within(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  Allocation& allocation = driver().allocations[address];
  allocation.address = address;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::Mapped;
  allocation.device = handle->memory->device();
  allocation.id = driver().next_id++;
  allocation.mapping = std::make_shared<Mapping>(Mapping{handle, {}});
  return CUDA_SUCCESS;
}

CUresult unmap(CUdeviceptr address, std::size_t bytes) {
  if (bytes == 0 || bytes % kPageBytes != 0 || !ranges().contains(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (!for_mappings(address, address + bytes, [](Iterator) {})) return CUDA_ERROR_INVALID_VALUE;
  for_mappings(address, address + bytes, [](Iterator mapping) { end_allocation(mapping); });
  return CUDA_SUCCESS;
}

bool is_host(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

bool is_access(int flags) {
  return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
         flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

CUresult check_location(const CUmemLocation& location) {
  if (is_host(location.type)) return CUDA_SUCCESS;
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  return find_device(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

void give_access(Mapping& mapping, const CUmemAccessDesc& access) {
  if (is_host(access.location.type))
    mapping.host_access = access.flags;
  else
    mapping.device_access[access.location.id] = access.flags;
}

// The range must be whole mappings without a gap.
CUresult set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  if (!access || count == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!ranges().contains(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  bool to_host = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (const CUresult result = check_location(access[i].location); result != CUDA_SUCCESS) return result;
    if (!is_access(access[i].flags)) return CUDA_ERROR_INVALID_VALUE;
    if (is_host(access[i].location.type)) to_host = true;
  }
  std::uint64_t mapped = 0;
  bool all_on_host = true;
  for_mappings(address, address + bytes, [&](Iterator it) {
    mapped += it->second.bytes;
    if (it->second.device) all_on_host = false;
  });
  if (mapped != bytes || (to_host && !all_on_host)) return CUDA_ERROR_INVALID_VALUE;
  for_mappings(address, address + bytes, [&](Iterator it) {
    for (std::size_t i = 0; i < count; ++i) give_access(*it->second.mapping, access[i]);
  });
  return CUDA_SUCCESS;
}

CUresult get_access(unsigned long long* out, const CUmemLocation* location, CUdeviceptr address) {
  if (!out || !location) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_location(*location); result != CUDA_SUCCESS) return result;
  const Allocation* allocation = find_allocation(address);
  if (!allocation || allocation->kind != MemoryKind::Mapped) return CUDA_ERROR_INVALID_VALUE;
  const Mapping& mapping = *allocation->mapping;
  if (is_host(location->type)) {
    *out = static_cast<unsigned long long>(mapping.host_access);
    return CUDA_SUCCESS;
  }
  const auto found = mapping.device_access.find(location->id);
  *out = found == mapping.device_access.end() ? 0 : static_cast<unsigned long long>(found->second);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemAddressReserve,
          (CUdeviceptr * out, std::size_t bytes, std::size_t alignment, CUdeviceptr, unsigned long long flags),
          reserve(out, bytes, alignment, flags))
VGSIM_API(cuMemAddressFree, (CUdeviceptr address, std::size_t bytes), free_range(address, bytes))
VGSIM_API(cuMemMap,
          (CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
           unsigned long long flags),
          map(address, bytes, offset, handle, flags))
VGSIM_API(cuMemUnmap, (CUdeviceptr address, std::size_t bytes), unmap(address, bytes))
VGSIM_API(cuMemSetAccess, (CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count),
          set_access(address, bytes, access, count))
VGSIM_API(cuMemGetAccess, (unsigned long long* out, const CUmemLocation* location, CUdeviceptr address),
          get_access(out, location, address))
