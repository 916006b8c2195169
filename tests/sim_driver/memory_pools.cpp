#include "tests/sim_driver/memory_pools.h"

#include <utility>

namespace vgsim {
namespace {

// Below the linear memory of all devices.
constexpr std::uint64_t kAddressBase = 0x1000'0000'0000ULL;
constexpr std::uint64_t kAddressesPerDevice = 1ULL << 39;
constexpr std::uint64_t kMostHostBytes = 1ULL << 46;

ChunkRanges& host_ranges() {
  static auto* const ranges = new HostRanges;
  return *ranges;
}

CUmemPoolProps default_props(const Device* device) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
  props.location.id = device ? device->ordinal : 0;
  return props;
}

}  // namespace

MemoryPool::MemoryPool(const CUmemPoolProps& props_of_pool, Device* device_of_pool, ChunkRanges& ranges)
    : props(props_of_pool), device(device_of_pool), key(pools().next_key++), space_(ranges) {}

MemoryPool::~MemoryPool() {
  if (device) driver().give(*device, space_.reserved());
  pools().unsettled.erase(this);
}

CUresult MemoryPool::allocate(std::uint64_t bytes, CUdeviceptr& out) {
  out = 0;
  if (bytes == 0) return CUDA_SUCCESS;
  // What can never fit must not use up addresses.
  if (bytes > kMostHostBytes || (device && bytes > kChunkBytes && bytes > driver().shared->total(device->physical)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  const auto address = space_.allocate(bytes, [this](std::uint64_t more) { return admit(more); });
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  add_owned(*address, bytes, device, shared_from_this());
  reserved.set(space_.reserved());
  used.set(used.current + bytes);
  out = *address;
  return CUDA_SUCCESS;
}

bool MemoryPool::admit(std::uint64_t bytes) {
  const std::uint64_t after = space_.reserved() + bytes;
  if (props.maxSize != 0 && after > chunks_of(props.maxSize) * kChunkBytes) return false;
  return !device || driver().take(*device, bytes);
}

void MemoryPool::take_back(const Allocation& allocation) {
  space_.release(allocation.address, allocation.bytes);
  used.set(used.current - allocation.bytes);
  pools().unsettled.insert(this);
}

void MemoryPool::trim(std::uint64_t keep) {
  const std::uint64_t given = space_.trim(keep);
  if (device) driver().give(*device, given);
  reserved.set(space_.reserved());
}

void MemoryPool::synchronise() {
  space_.settle();
  if (reserved.current > threshold) trim(threshold);
}

Pools& pools() {
  static auto* const all = new Pools;
  return *all;
}

std::shared_ptr<MemoryPool> find_pool(CUmemoryPool handle) {
  const auto found = pools().own.find(handle);
  return found == pools().own.end() ? nullptr : found->second;
}

ImportedPool* find_imported_pool(CUmemoryPool handle) {
  const auto found = pools().imported.find(handle);
  return found == pools().imported.end() ? nullptr : found->second.get();
}

std::shared_ptr<MemoryPool> make_pool(const CUmemPoolProps& props, Device* device) {
  ChunkRanges& ranges = device ? pool_ranges(*device) : host_ranges();
  auto pool = std::make_shared<MemoryPool>(props, device, ranges);
  pools().own.emplace(pool->pool_handle(), pool);
  return pool;
}

std::shared_ptr<MemoryPool> default_pool(Device* device) {
  auto& place = device ? pools().default_of[device] : pools().host_default;
  if (!place) {
    place = make_pool(default_props(device), device);
    place->is_default = true;
  }
  return place;
}

std::shared_ptr<MemoryPool> current_pool(Device* device) {
  if (!device) return pools().host_current ? pools().host_current : default_pool(nullptr);
  const auto found = pools().current_of.find(device);
  return found == pools().current_of.end() ? default_pool(device) : found->second;
}

CUresult set_current_pool(Device* device, CUmemoryPool handle) {
  const auto pool = find_pool(handle);
  if (!pool || pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  if (device)
    pools().current_of[device] = pool;
  else
    pools().host_current = pool;
  return CUDA_SUCCESS;
}

ChunkRanges& pool_ranges(const Device& device) {
  static auto* const all = new std::map<int, DeviceRanges>;
  const std::uint64_t base = kAddressBase + static_cast<std::uint64_t>(device.physical) * kAddressesPerDevice;
  return all->try_emplace(device.physical, base, kAddressesPerDevice).first->second;
}

void synchronise_pools() {
  const auto unsettled = std::move(pools().unsettled);
  pools().unsettled.clear();
  for (MemoryPool* pool : unsettled) pool->synchronise();
}

}  // namespace vgsim
