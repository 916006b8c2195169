// Memory that a MemoryGuard gave, and that goes back with its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/device.h"

namespace vramguard {

class MemoryGuardState;

// Owns some device memory; freed by the destructor, whether or not the guard still lives. Move-only. Belongs to one
// thread at a time, which need not be the one that allocated it.
class DeviceMemory {
 public:
  DeviceMemory() noexcept = default;
  DeviceMemory(DeviceMemory&& other) noexcept
      : owner_(std::move(other.owner_)),
        address_(std::exchange(other.address_, 0)),
        bytes_(std::exchange(other.bytes_, 0)),
        on_host_(std::exchange(other.on_host_, false)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  DeviceAddress address() const noexcept { return address_; }
  Bytes bytes() const noexcept { return bytes_; }
  bool on_host() const noexcept { return on_host_; }

 private:
  friend class MemoryGuardState;
  DeviceMemory(std::shared_ptr<MemoryGuardState> owner, DeviceAddress address, Bytes bytes, bool on_host) noexcept
      : owner_(std::move(owner)), address_(address), bytes_(bytes), on_host_(on_host) {}

  std::shared_ptr<MemoryGuardState> owner_;  // null: holds nothing
  DeviceAddress address_ = 0;
  Bytes bytes_ = 0;
  bool on_host_ = false;
};

// `size()` elements of T on the device. As DeviceMemory, and empty where it was moved from.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() noexcept = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // For kernels and copies; the host must not look at it. Null where it is empty.
  T* data() const noexcept { return reinterpret_cast<T*>(static_cast<std::uintptr_t>(memory_.address())); }
  DeviceAddress address() const noexcept { return memory_.address(); }  // a CUdeviceptr
  std::size_t size() const noexcept { return size_; }
  Bytes bytes() const noexcept { return memory_.bytes(); }
  bool empty() const noexcept { return size_ == 0; }
  // Served by the policy Spill: it takes nothing of the device and of the budget.
  bool on_host() const noexcept { return memory_.on_host(); }

 private:
  friend class MemoryGuard;
  DeviceBuffer(DeviceMemory memory, std::size_t size) noexcept : memory_(std::move(memory)), size_(size) {}

  DeviceMemory memory_;
  std::size_t size_ = 0;
};

}  // namespace vramguard
