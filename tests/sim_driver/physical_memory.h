// Physical memory without addresses, and the handles by which a program knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tests/sim_driver/driver.h"

namespace vgsim {

// Taken from the device when it is made, unless another process has taken it already, and given back with the last
// handle and mapping. Guarded by DriverLock.
class PhysicalMemory {
 public:
  // Empty where the device has no room. `device` is nullptr for memory of the host, which costs nothing.
  static std::shared_ptr<PhysicalMemory> create(Device* device, std::uint64_t bytes, const CUmemAllocationProp& prop);

  // What another process, or this one, has shared under `key`; empty when it is gone.
  static std::shared_ptr<PhysicalMemory> import(SharedMemoryKey key, Device* device, std::uint64_t bytes,
                                                const CUmemAllocationProp& prop);

  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  Device* device() const { return device_; }
  std::uint64_t bytes() const { return bytes_; }
  const CUmemAllocationProp& properties() const { return prop_; }

  // The key by which other processes find it; empty when no more memory can be shared.
  static std::optional<SharedMemoryKey> share(const std::shared_ptr<PhysicalMemory>& memory);

  // All its data, or nullptr where none is kept.
  std::byte* data(bool for_writing);

 private:
  PhysicalMemory(Device* device, std::uint64_t bytes, const CUmemAllocationProp& prop, bool owned)
      : device_(device), bytes_(bytes), prop_(prop), owned_(owned) {}

  Device* device_;
  std::uint64_t bytes_;
  CUmemAllocationProp prop_;
  bool owned_;  // its bytes are part of this process's use
  SharedMemoryKey key_;
  std::unique_ptr<std::byte[]> data_;
};

// What cuMemCreate or an import returned. Lives as long as the program has references to it or it is mapped.
struct AllocationHandle {
  CUmemGenericAllocationHandle value;
  std::shared_ptr<PhysicalMemory> memory;
  std::uint64_t references;
};

// A new handle with one reference.
CUmemGenericAllocationHandle add_handle(std::shared_ptr<PhysicalMemory> memory);

// The handle that the program has a reference to; nullptr for any other value. The call is noted as one that would
// crash the real driver where the value never was a handle.
std::shared_ptr<AllocationHandle> find_handle(CUmemGenericAllocationHandle value);

// One more reference, also to a handle of which only mappings are left.
void retain_handle(const std::shared_ptr<AllocationHandle>& handle);
void release_handle(AllocationHandle& handle);

}  // namespace vgsim
