// Who a device is, and how its own numbers are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/bytes.h"
#include "core/pool_table.h"

namespace vramguard {

struct DeviceInfo {
  int ordinal;             // the program's: CUDA_VISIBLE_DEVICES applied
  std::string uuid;        // "GPU-8f6e1c1a-...": the identity everywhere but inside this process
  std::string pci_bus_id;  // "0000:3b:00.0"
  Bytes total_bytes;
  std::string name = {};  // "NVIDIA H200"; for people
};

// Thread-safe. The device itself, beside our books: what is said of it, and the little that we do to it. nullopt where
// nobody can tell (no NVML, a container that hides processes, a driver that is going away). No call disturbs a capture,
// of whatever thread.
class DeviceReader {
 public:
  // Called on a thread of the program before the first look: the place to load a library.
  virtual void prepare() noexcept = 0;
  virtual std::optional<Bytes> bytes_of_this_process(int ordinal) noexcept = 0;
  virtual std::optional<Bytes> free_bytes(int ordinal) noexcept = 0;
  // The same, for the program's threads: by the driver where the device is the current one.
  virtual std::optional<Bytes> free_bytes_here(int ordinal) noexcept { return free_bytes(ordinal); }

  // What a pool holds, used or not. The caller keeps the pool from being destroyed.
  virtual std::optional<Bytes> pool_bytes(PoolHandle pool) noexcept = 0;
  // What graph memory holds on the device, used or not.
  virtual std::optional<Bytes> graph_bytes(int ordinal) noexcept = 0;
  // Gives back to the card what nobody uses. False if the driver would not.
  virtual bool trim_pool(PoolHandle pool) noexcept = 0;
  virtual bool trim_graphs(int ordinal) noexcept = 0;

  // Memory by the chunk, for a sentinel: needs no context and is seen by neighbours at once.
  using Chunk = std::uint64_t;
  virtual std::optional<Chunk> take_chunk(int ordinal, Bytes bytes) noexcept = 0;
  virtual void give_chunk(Chunk chunk) noexcept = 0;

 protected:
  ~DeviceReader() = default;
};

}  // namespace vramguard
