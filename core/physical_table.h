// The physical allocations of virtual memory management: each lives until its last handle reference and its last
// mapping are gone.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include <tsl/robin_map.h>

#include "core/bytes.h"

namespace vramguard {

using PhysicalHandle = std::uint64_t;

struct PhysicalBlock {
  int device;
  Bytes bytes;
};

// Thread-safe. No lock is held on return, and no exception leaves. Calls into the driver cost microseconds here, so one
// lock does. Handles of others, imported ones for instance, are unknown here, and so are their mappings.
class PhysicalTable {
 public:
  using BlockId = std::uint64_t;
  struct Mapping {
    Bytes bytes;
    BlockId block;
  };
  using Mappings = std::map<std::uint64_t, Mapping>;  // by address

  // A new block with one reference. False: no memory for it.
  bool add(PhysicalHandle handle, PhysicalBlock block) noexcept;
  // The driver gave out a reference more to what is mapped at `address`. A block of which only mappings were left has a
  // handle again.
  void retained(PhysicalHandle handle, std::uint64_t address) noexcept;

  // A release takes its reference away before it enters the driver, then either ends it, which tells of a block that is
  // gone with it, or gives it back because the driver refused.
  std::optional<BlockId> take_reference(PhysicalHandle handle) noexcept;
  std::optional<PhysicalBlock> end_reference(BlockId block) noexcept;
  void put_back_reference(PhysicalHandle handle, BlockId block) noexcept;

  // A mapping holds its block from before the call, so that no release can end it meanwhile.
  std::optional<BlockId> begin_mapping(PhysicalHandle handle) noexcept;
  // False: no memory to note it; the block then stays charged.
  bool mapped(BlockId block, std::uint64_t address, Bytes bytes) noexcept;
  std::optional<PhysicalBlock> not_mapped(BlockId block) noexcept;

  // An unmapping takes out every mapping that begins in the range, then ends them one by one or puts them back.
  Mappings take_mappings(std::uint64_t address, Bytes bytes) noexcept;
  // Ends the first of them; sets `ended` where its block is gone with it. False when there is none left.
  bool end_mapping(Mappings& mappings, std::optional<PhysicalBlock>& ended) noexcept;
  void put_back(Mappings&& mappings) noexcept;

 private:
  struct Block {
    PhysicalBlock what;
    unsigned references = 1;
    unsigned holds = 0;  // mappings, and releases that have not come back
  };

  // With the lock held.
  Block* find(PhysicalHandle handle, BlockId& id) noexcept;
  std::optional<PhysicalBlock> drop_hold(BlockId id) noexcept;

  std::mutex mutex_;
  tsl::robin_map<PhysicalHandle, BlockId> by_handle_;  // of those with a reference
  tsl::robin_map<BlockId, Block> blocks_;
  Mappings mappings_;
  BlockId next_id_ = 1;
};

}  // namespace vramguard
