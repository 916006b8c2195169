// What stands behind a MemoryGuard and its buffers: books of its own, or the guard that the process already has.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "core/memory_guard.h"
#include "core/page_map.h"

namespace vramguard {

// Thread-safe. Lives as long as the guard and its buffers. No lock is held while the device or a callback is called.
class MemoryGuardState : public std::enable_shared_from_this<MemoryGuardState> {
 public:
  explicit MemoryGuardState(std::shared_ptr<Device> device) noexcept : device_(std::move(device)) {}
  virtual ~MemoryGuardState();
  MemoryGuardState(const MemoryGuardState&) = delete;

  // Of at least one byte. Throws the errors of MemoryGuard.
  virtual DeviceMemory allocate(Bytes bytes, bool runs_hooks) = 0;
  // Throws DeviceError, and the memory stays as it was.
  void free(DeviceMemory& memory);

  virtual void set_budget(Bytes bytes) noexcept = 0;
  virtual Bytes budget() const noexcept = 0;
  virtual void set_policy(const MemoryPolicy& policy) noexcept = 0;
  virtual void on_oom(std::function<void(const MemoryShortage&)> callback) = 0;
  virtual void register_hook(MemoryHook hook) = 0;
  virtual bool remove_hook(std::string_view name) = 0;
  virtual PressureLevel level() const noexcept = 0;
  virtual void add_listener(PressureListener listener) = 0;

  virtual Bytes release_reservation() noexcept = 0;
  virtual bool has_reservation() const noexcept = 0;
  virtual MemoryStats stats() const noexcept = 0;
  virtual void reset_peak() noexcept = 0;
  virtual bool attached() const noexcept = 0;
  // The guard is gone, its buffers may live on.
  virtual void end() noexcept = 0;

  Device& device() const noexcept { return *device_; }

 protected:
  DeviceMemory memory_at(DeviceAddress address, Bytes bytes, bool on_host) noexcept {
    return {shared_from_this(), address, bytes, on_host};
  }

 private:
  // Throws DeviceError, and nothing has changed.
  virtual void give_back(AddressRange range, bool on_host) = 0;

  const std::shared_ptr<Device> device_;
};

}  // namespace vramguard
