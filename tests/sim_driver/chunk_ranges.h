// Runs of addresses for memory that is taken from the device in chunks of 32 MiB.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/sim_driver/page_space.h"

namespace vgsim {

inline constexpr std::uint64_t kChunkBytes = 32ULL << 20;

inline std::uint64_t chunks_of(std::uint64_t bytes) { return bytes / kChunkBytes + (bytes % kChunkBytes != 0 ? 1 : 0); }

// Gives out runs of whole chunks. Not thread-safe.
class ChunkRanges {
 public:
  virtual ~ChunkRanges() = default;
  // The address of a run, or nothing when none is that long.
  virtual std::optional<std::uint64_t> take(std::uint64_t chunks) = 0;
  virtual void give(std::uint64_t address, std::uint64_t chunks) = 0;
};

// Addresses of a device, which are not memory of the process.
class DeviceRanges : public ChunkRanges {
 public:
  DeviceRanges(std::uint64_t first_address, std::uint64_t bytes);
  std::optional<std::uint64_t> take(std::uint64_t chunks) override;
  void give(std::uint64_t address, std::uint64_t chunks) override;

 private:
  PageSpace space_;  // its pages are chunks here
};

// Real memory of the process, which takes nothing until it is touched.
class HostRanges : public ChunkRanges {
 public:
  std::optional<std::uint64_t> take(std::uint64_t chunks) override;
  void give(std::uint64_t address, std::uint64_t chunks) override;
};

}  // namespace vgsim
