// A device as a MemoryGuard needs it: who it is, and the few things that are done to its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "core/bytes.h"

namespace vramguard {

class ProcessGuard;

// Where memory is, as the device sees it.
using DeviceAddress = std::uint64_t;

// A plain value.
struct DeviceDescription {
  int ordinal = 0;         // as the program counts
  std::string name;        // "NVIDIA H200"
  std::string uuid;        // "GPU-8f6e1c1a-..."; empty if unknown
  std::string pci_bus_id;  // "0000:3b:00.0"; empty if unknown
  Bytes total_bytes = 0;
};

// "cuda:0 NVIDIA H200, 139.81GiB (GPU-8f6e1c1a-..., 0000:3b:00.0)".
std::string to_string(const DeviceDescription& device);

// CudaDevice (shim/api/cuda_device.h) is the real one. Derive from it to guard memory of another kind, or in tests.
//
// Every function may be called by several threads at once, and none by a thread that holds a lock of the guard's.
// Functions that are not noexcept throw DeviceError (core/memory_error.h) where the device fails.
class Device {
 public:
  // Memory that can be taken without having an address: for a reservation.
  using Chunk = std::uint64_t;

  virtual ~Device() = default;

  // The same at each call.
  virtual const DeviceDescription& description() const noexcept = 0;
  // What the device has left at this moment, whoever uses the rest; nullopt where it cannot tell.
  virtual std::optional<Bytes> free_bytes() noexcept = 0;
  // Gives back what this process keeps and nobody uses (pools, graphs). True if there was any.
  virtual bool trim() noexcept = 0;

  virtual std::optional<Chunk> take_chunk(Bytes bytes) noexcept = 0;  // a multiple of 2 MiB; nullopt: not to be had
  virtual void give_chunk(Chunk chunk) noexcept = 0;

  // At least one byte. nullopt: the device is full.
  virtual std::optional<DeviceAddress> allocate(Bytes bytes) = 0;
  // The same in memory of the host that the device can read and write; takes nothing of the device. nullopt: not to be
  // had.
  virtual std::optional<DeviceAddress> allocate_on_host(Bytes bytes) = 0;
  // Both have ended on the device when they return, so that work in any stream can follow.
  virtual void copy_from_host(DeviceAddress to, const void* from, Bytes bytes) = 0;
  virtual void fill_with_zeros(DeviceAddress address, Bytes bytes) = 0;
  // What allocate() or allocate_on_host() gave. When it throws, the memory stays allocated.
  virtual void free(DeviceAddress address) = 0;

  // Where the process has a guard that allocate() passes anyway, a MemoryGuard works on that one; null: there is none.
  virtual std::shared_ptr<ProcessGuard> process_guard() { return nullptr; }
  // Whether that guard has served what allocate() gave in memory of the host.
  virtual bool is_in_host_memory(DeviceAddress) noexcept { return false; }
};

// To any std::ostream.
template <typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Device& device) {
  const std::string text = to_string(device.description());
  return out.write(text.data(), static_cast<std::ptrdiff_t>(text.size()));
}

}  // namespace vramguard
