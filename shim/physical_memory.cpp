// Virtual memory management: the backing store is charged from its creation until its last handle reference and its
// last mapping are gone. Addresses cost nothing. Needs no context.
#include "shim/guarded_call.h"

namespace vramguard::entry {

namespace {

GuardedDevice* device_of(Guard* guard, const CUmemAllocationProp* prop) {
  const bool on_device = prop != nullptr && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  return guard != nullptr && on_device ? guard->device(prop->location.id) : nullptr;
}

void end(Guard& guard, const std::optional<PhysicalBlock>& ended) {
  if (ended) guard.physical_gone(*ended);
}

// What waits for calls under way waits for this one, too.
class FreeUnderWay {
 public:
  explicit FreeUnderWay(Guard& guard) noexcept : guard_(guard) {
    for (int i = 0; i < guard_.device_count(); ++i) guard_.device(i)->memory.free_begins();
  }
  ~FreeUnderWay() {
    for (int i = 0; i < guard_.device_count(); ++i) guard_.device(i)->memory.free_ends();
  }
  FreeUnderWay(const FreeUnderWay&) = delete;

 private:
  Guard& guard_;
};

}  // namespace

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  Guard* guard = vramguard::guard();
  GuardedDevice* device = device_of(guard, prop);
  if (device == nullptr || handle == nullptr || bytes == 0) {
    return forward(&DriverFunctions::cuMemCreate, handle, bytes, prop, flags);
  }
  CUmemGenericAllocationHandle created = 0;
  const CUresult result = guarded_exact(
      *guard, *device, {"cuMemCreate", bytes}, Holder::Physical,
      [&] { return forward(&DriverFunctions::cuMemCreate, &created, bytes, prop, flags); },
      [&] {
        const PhysicalBlock block{device->info.ordinal, bytes};
        if (guard->physical().add(created, block)) return;
        guard->guard_failed("physical", "no memory to note a physical allocation; it is not counted");
        guard->physical_gone(block);
      });
  if (result == CUDA_SUCCESS) *handle = created;
  return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Guard* guard = vramguard::guard();
  const auto block = guard != nullptr ? guard->physical().take_reference(handle) : std::nullopt;
  if (!block) return forward(&DriverFunctions::cuMemRelease, handle);
  const FreeUnderWay under_way(*guard);
  const CUresult result = forward(&DriverFunctions::cuMemRelease, handle);
  if (result == CUDA_SUCCESS) {
    end(*guard, guard->physical().end_reference(*block));
  } else {
    guard->physical().put_back_reference(handle, *block);
  }
  return result;
}

// Gives the same handle again, with one reference more.
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  const CUresult result = forward(&DriverFunctions::cuMemRetainAllocationHandle, handle, address);
  Guard* guard = vramguard::guard();
  if (result == CUDA_SUCCESS && guard != nullptr) {
    guard->physical().retained(*handle, reinterpret_cast<std::uint64_t>(address));
  }
  return result;
}

CUresult cuMemMap(CUdeviceptr dptr, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  Guard* guard = vramguard::guard();
  const auto block = guard != nullptr ? guard->physical().begin_mapping(handle) : std::nullopt;
  if (!block) return forward(&DriverFunctions::cuMemMap, dptr, bytes, offset, handle, flags);
  const CUresult result = forward(&DriverFunctions::cuMemMap, dptr, bytes, offset, handle, flags);
  if (result != CUDA_SUCCESS) {
    end(*guard, guard->physical().not_mapped(*block));
  } else if (!guard->physical().mapped(*block, dptr, bytes)) {
    guard->guard_failed("physical", "no memory to note a mapping; its memory stays counted");
  }
  return result;
}

CUresult cuMemUnmap(CUdeviceptr dptr, size_t bytes) {
  Guard* guard = vramguard::guard();
  if (guard == nullptr) return forward(&DriverFunctions::cuMemUnmap, dptr, bytes);
  PhysicalTable::Mappings mappings = guard->physical().take_mappings(dptr, bytes);
  const FreeUnderWay under_way(*guard);
  const CUresult result = forward(&DriverFunctions::cuMemUnmap, dptr, bytes);
  if (result != CUDA_SUCCESS) {
    guard->physical().put_back(std::move(mappings));
    return result;
  }
  for (std::optional<PhysicalBlock> ended; guard->physical().end_mapping(mappings, ended);) end(*guard, ended);
  return result;
}

}  // namespace vramguard::entry
