// Which live allocation an address, or the handle of an array, belongs to: what a free needs to know and the driver
// does not tell.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "core/address_hash.h"
#include "core/bytes.h"

namespace vramguard {

// Uncharged: managed memory that takes none of the budget, because it is kept on the host or is not to be counted.
// Spilled: such memory in place of linear memory that did not fit.
enum class AllocationKind : std::uint8_t { Linear, Managed, Uncharged, Spilled, Array };

constexpr bool is_on_host(AllocationKind kind) noexcept {
  return kind == AllocationKind::Uncharged || kind == AllocationKind::Spilled;
}

struct AllocationRecord {
  Bytes bytes;
  std::uint8_t device;
  AllocationKind kind;
  std::uint32_t context;
  std::uint64_t sequence;  // rises with every allocation of the process
  friend bool operator==(const AllocationRecord&, const AllocationRecord&) = default;
};

// Thread-safe. No lock is held on return, and no exception leaves.
class AllocationTable {
 public:
  struct Insertion {
    bool stored;  // false: no memory for the record, the table is as before
    // A record that stood at the same address: its context died unseen, and its bytes are still in the books.
    std::optional<AllocationRecord> displaced;
  };
  struct Taken {
    std::vector<std::pair<std::uint64_t, AllocationRecord>> allocations;
    bool complete = true;  // false: no memory for the whole list; what is not in it is still in the table
  };

  Insertion insert(std::uint64_t address, const AllocationRecord& record) noexcept;
  std::optional<AllocationRecord> take(std::uint64_t address) noexcept;
  // For a context that died: its records up to and including `up_to_sequence`. Later ones belong to a new context that
  // was given the same number.
  Taken take_all_of_context(std::uint32_t context, std::uint64_t up_to_sequence) noexcept;

  // Exact only while no other thread changes the table.
  std::size_t size() const noexcept;
  Bytes bytes() const noexcept;

 private:
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    // As of records, for who needs no lock to see that there are none: frees of stream-ordered memory look here, too.
    std::atomic<std::size_t> count{0};
    tsl::robin_map<std::uint64_t, AllocationRecord, AddressHash> records;
    Bytes bytes = 0;
  };

  Shard& shard(std::uint64_t address) noexcept { return shards_[shard_of(address)]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace vramguard
