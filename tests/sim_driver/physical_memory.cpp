#include "tests/sim_driver/physical_memory.h"

#include <map>
#include <unordered_map>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/memory_data.h"

namespace vgsim {
namespace {

// A value is never given out twice, so one that was released is told apart from a later handle.
constexpr CUmemGenericAllocationHandle kFirstHandle = 0x7000'0000'0010ULL;
constexpr CUmemGenericAllocationHandle kHandleStep = 16;

struct Registry {
  std::unordered_map<CUmemGenericAllocationHandle, std::shared_ptr<AllocationHandle>> referenced;
  CUmemGenericAllocationHandle next_handle = kFirstHandle;
  // What this process shares or holds, so that an import finds memory that is here already.
  std::map<std::uint64_t, std::weak_ptr<PhysicalMemory>> shared;
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

}  // namespace

std::shared_ptr<PhysicalMemory> PhysicalMemory::create(Device* device, std::uint64_t bytes,
                                                       const CUmemAllocationProp& prop) {
  if (device && !driver().take(*device, bytes)) return nullptr;
  return std::shared_ptr<PhysicalMemory>(new PhysicalMemory(device, bytes, prop, true));
}

std::shared_ptr<PhysicalMemory> PhysicalMemory::import(SharedMemoryKey key, Device* device, std::uint64_t bytes,
                                                       const CUmemAllocationProp& prop) {
  std::weak_ptr<PhysicalMemory>& known = registry().shared[key.id];
  if (auto memory = known.lock()) return memory;
  if (!driver().shared->hold(key)) {
    registry().shared.erase(key.id);
    return nullptr;
  }
  std::shared_ptr<PhysicalMemory> memory(new PhysicalMemory(device, bytes, prop, false));
  memory->key_ = key;
  known = memory;
  return memory;
}

PhysicalMemory::~PhysicalMemory() {
  Driver& state = driver();
  if (data_) state.data_bytes -= bytes_;
  if (key_.id != 0) registry().shared.erase(key_.id);
  if (!owned_)
    state.shared->stop_holding(key_);
  else if (key_.id != 0)
    state.shared->disown(key_);
  else if (device_)
    state.give(*device_, bytes_);
}

std::optional<SharedMemoryKey> PhysicalMemory::share(const std::shared_ptr<PhysicalMemory>& memory) {
  if (memory->key_.id != 0) return memory->key_;
  const int device = memory->device_ ? memory->device_->physical : 0;
  const auto key = driver().shared->share(device, memory->device_ ? memory->bytes_ : 0);
  if (!key) return std::nullopt;
  registry().shared[key->id] = memory;
  memory->key_ = *key;
  return key;
}

std::byte* PhysicalMemory::data(bool for_writing) {
  Driver& state = driver();
  if (!data_ && for_writing && bytes_ <= kKeptDataBytes - state.data_bytes) {
    data_ = std::make_unique<std::byte[]>(bytes_);
    state.data_bytes += bytes_;
  }
  return data_.get();
}

CUmemGenericAllocationHandle add_handle(std::shared_ptr<PhysicalMemory> memory) {
  Registry& all = registry();
  const CUmemGenericAllocationHandle value = all.next_handle;
  all.referenced[value] = std::make_shared<AllocationHandle>(AllocationHandle{value, std::move(memory), 1});
  all.next_handle += kHandleStep;
  return value;
}

std::shared_ptr<AllocationHandle> find_handle(CUmemGenericAllocationHandle value) {
  const Registry& all = registry();
  const auto found = all.referenced.find(value);
  if (found != all.referenced.end()) return found->second;
  const bool was_one = value >= kFirstHandle && value < all.next_handle && (value - kFirstHandle) % kHandleStep == 0;
  if (!was_one) note_call("would-crash");
  return nullptr;
}

void retain_handle(const std::shared_ptr<AllocationHandle>& handle) {
  registry().referenced[handle->value] = handle;
  ++handle->references;
}

void release_handle(AllocationHandle& handle) {
  if (--handle.references == 0) registry().referenced.erase(handle.value);
}

}  // namespace vgsim
