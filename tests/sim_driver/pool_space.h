// Where the memory of one pool lies, and which chunks of it the pool has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/sim_driver/chunk_ranges.h"

namespace vgsim {

// Keeps what was measured on the real driver: a pool grows by whole chunks and only by those that a request needs
// beyond the free memory beside them, so never by more than the request rounded up to chunks; and memory is given back
// only when it was freed before the last synchronisation. The place is the best fit. Not thread-safe.
class PoolSpace {
 public:
  explicit PoolSpace(ChunkRanges& ranges) : ranges_(&ranges) {}
  ~PoolSpace();
  PoolSpace(const PoolSpace&) = delete;
  PoolSpace& operator=(const PoolSpace&) = delete;

  // The address of `bytes` (at least 1), or nothing. `admit` is asked for the bytes that the pool grows by.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, const std::function<bool(std::uint64_t)>& admit);

  // `address` and `bytes` are those of an allocation.
  void release(std::uint64_t address, std::uint64_t bytes);

  // From now on trim() may give back all that is free.
  void settle() { ++epoch_; }

  // Gives chunks back, those at the highest addresses first, until `keep` bytes are left; returns the bytes.
  std::uint64_t trim(std::uint64_t keep);

  std::uint64_t reserved() const { return backed_.size() * kChunkBytes; }

 private:
  using Runs = std::map<std::uint64_t, std::uint64_t>;  // address -> bytes

  std::uint64_t carve(Runs::iterator hole, std::uint64_t bytes);
  // A hole of at least `bytes` after growing.
  Runs::iterator grow(std::uint64_t bytes, const std::function<bool(std::uint64_t)>& admit);
  Runs::iterator best_gap(std::uint64_t bytes);
  bool add_range(std::uint64_t bytes);
  std::uint64_t hole_before(std::uint64_t address) const;  // bytes of the hole that ends there
  std::uint64_t hole_at(std::uint64_t address) const;
  Runs::iterator add_hole(std::uint64_t address, std::uint64_t bytes);
  void remove_hole(Runs::iterator hole);
  void give_chunk(std::uint64_t address);

  ChunkRanges* ranges_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken_ranges_;  // address, chunks
  Runs holes_;                                                         // free memory that the pool has
  std::set<std::pair<std::uint64_t, std::uint64_t>> holes_by_size_;    // (bytes, address)
  Runs gaps_;                                                          // free addresses without memory, whole chunks
  std::unordered_map<std::uint64_t, std::uint64_t> backed_;            // chunk -> epoch of the last free in it
  std::uint64_t epoch_ = 1;
};

}  // namespace vgsim
