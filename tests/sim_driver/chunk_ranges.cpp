#include "tests/sim_driver/chunk_ranges.h"

#include <sys/mman.h>

namespace vgsim {

DeviceRanges::DeviceRanges(std::uint64_t first_address, std::uint64_t bytes)
    : space_(first_address / kChunkBytes, bytes / kChunkBytes) {}

std::optional<std::uint64_t> DeviceRanges::take(std::uint64_t chunks) {
  const auto first = space_.take(chunks);
  if (!first) return std::nullopt;
  return *first * kChunkBytes;
}

void DeviceRanges::give(std::uint64_t address, std::uint64_t chunks) { space_.give(address / kChunkBytes, chunks); }

std::optional<std::uint64_t> HostRanges::take(std::uint64_t chunks) {
  if (chunks > (1ULL << 46) / kChunkBytes) return std::nullopt;
  const std::uint64_t bytes = chunks * kChunkBytes;
  void* start =
      mmap(nullptr, bytes + kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return std::nullopt;
  const auto address = reinterpret_cast<std::uint64_t>(start);
  const std::uint64_t aligned = chunks_of(address) * kChunkBytes;
  if (aligned > address) munmap(start, aligned - address);
  if (const std::uint64_t tail = address + kChunkBytes - aligned; tail > 0)
    munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  return aligned;
}

void HostRanges::give(std::uint64_t address, std::uint64_t chunks) {
  munmap(reinterpret_cast<void*>(address), chunks * kChunkBytes);
}

}  // namespace vgsim
