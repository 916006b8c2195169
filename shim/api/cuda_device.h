// A CUDA device for a MemoryGuard. Loads libcuda.so.1 at run time: nothing of CUDA is needed to build or link.
#pragma once

#include <optional>

#include "core/device.h"

namespace vramguard {

// Thread-safe. Memory is allocated in the context that is current on the calling thread where that is one of this
// device, else in the device's primary context, which the CUDA runtime uses too; what is current stays so. Not to be
// used while the calling thread captures a stream, nor after the primary context was reset.
class CudaDevice final : public Device {
 public:
  // Holds the primary context of the device, and makes it where there is none yet. `ordinal` as the program counts
  // (CUDA_VISIBLE_DEVICES applied). Throws DeviceError where there is no driver or no such device.
  explicit CudaDevice(int ordinal = 0);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;

  // Throws DeviceError where there is no driver.
  static int count();

  const DeviceDescription& description() const noexcept override { return description_; }
  std::optional<Bytes> free_bytes() noexcept override;
  // Memory pools (the default one and the one in use) and graphs: of others nobody tells.
  bool trim() noexcept override;
  std::optional<Chunk> take_chunk(Bytes bytes) noexcept override;
  void give_chunk(Chunk chunk) noexcept override;
  std::optional<DeviceAddress> allocate(Bytes bytes) override;
  // Managed memory whose preferred place is the host.
  std::optional<DeviceAddress> allocate_on_host(Bytes bytes) override;
  void copy_from_host(DeviceAddress to, const void* from, Bytes bytes) override;
  void fill_with_zeros(DeviceAddress address, Bytes bytes) override;
  void free(DeviceAddress address) override;

  // Of a process under the preload. docs/memory_guard.md says what comes of it.
  std::shared_ptr<ProcessGuard> process_guard() override;
  bool is_in_host_memory(DeviceAddress address) noexcept override;

 private:
  struct Driver;
  class InContext;
  static const Driver& driver();

  const Driver& driver_;
  int device_ = 0;                   // a CUdevice
  void* primary_context_ = nullptr;  // a CUcontext
  DeviceDescription description_;
};

}  // namespace vramguard
