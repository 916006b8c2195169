#include "core/device_buffer.h"

#include "core/memory_guard_state.h"

namespace vramguard {

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  DeviceMemory before(std::move(*this));
  owner_ = std::move(other.owner_);
  address_ = std::exchange(other.address_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  on_host_ = std::exchange(other.on_host_, false);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (owner_ == nullptr) return;
  try {
    owner_->free(*this);
  } catch (...) {  // the device keeps it, and so do the books
  }
}

}  // namespace vramguard
