// What linear allocations take from the device: the distinct 2 MiB pages that they touch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include <tsl/robin_map.h>

#include "core/address_hash.h"
#include "core/bytes.h"

namespace vramguard {

// Measured on H200, driver 580; the page by which the driver gives and takes linear memory.
constexpr Bytes kPageBytes = 2_MiB;

struct AddressRange {
  std::uint64_t address;
  Bytes bytes;
};

// Thread-safe. A range's inner pages are its own and only added up; its first and last may be shared with other ranges
// and are counted.
//
// A range enters in two steps, with its payment in between, so that no two threads can both rely on a page that neither
// has paid for yet:
//
//     Claim claim = add(range);        counts its edges; claim.cost() = inner pages + edges that nobody has secured
//     ... the caller charges claim.cost() to the budget, or cancel(claim)s ...
//     refund = secure(claim);          edges become secured: paid for as long as any range is on them
//
// An edge's state is {count, secured}. Whoever finds it unsecured pays for it, even if another has already added it,
// since that other may still fail; so several may have paid when the first secures it, and the later ones are refunded
// by secure(). A secured edge keeps its one payment when its payer leaves: the payment leaves with the last range on
// it, through whichever of remove() and cancel() takes the count to 0. Hence
//  - at any moment, charged >= the pages of all settled ranges: an edge is secured only after a charge, and that charge
//  is
//    returned only after the last range is gone;
//  - when no call is under way, charged == distinct pages x 2 MiB: each edge with a count is secured and was refunded
//  down
//    to one payment, and each inner page has exactly one.
class PageMap {
 public:
  // One range between add() and secure() or cancel(). Belongs to one thread.
  class Claim {
   public:
    Bytes cost() const noexcept { return cost_; }

   private:
    friend class PageMap;
    struct Edge {
      std::uint64_t page = 0;
      bool counted = false;  // false also where the map had no memory for it: then the page counts as an inner one
      bool paid = false;
      bool waiting = false;
    };
    std::array<Edge, 2> edges_;
    Bytes cost_ = 0;
  };

  Claim add(AddressRange range) noexcept;
  // After a payment did not fit. True if the claim has become cheaper, or may become so because a thread that does not
  // wait itself is between add() and secure() on the same page: worth another try. Until stop_waiting(), other threads
  // do not wait for this one.
  bool wait_is_worthwhile(Claim& claim) noexcept;
  void stop_waiting(Claim& claim) noexcept;
  // The part of claim.cost() that another thread has paid in the meantime.
  Bytes secure(const Claim& claim) noexcept;
  // Undoes add(). Returns what leaves the books all the same: edges secured by ranges that have left before.
  Bytes cancel(Claim& claim) noexcept;
  // Of a secured range: the bytes that leave the books.
  Bytes remove(AddressRange range) noexcept;

  // Edges that could not be counted because the process has no memory left: charged in full, so never too little.
  std::uint64_t uncounted() const noexcept { return uncounted_.load(std::memory_order_relaxed); }

 private:
  struct Edge {
    std::uint32_t count = 0;
    std::uint32_t waiting = 0;  // of those counted
    bool secured = false;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    tsl::robin_map<std::uint64_t, Edge, AddressHash> edges;
  };

  void add_edge(std::uint64_t page, Claim::Edge& edge) noexcept;
  Bytes drop_edge(std::uint64_t page, Bytes if_unknown) noexcept;
  static void set_waiting(Claim::Edge& edge, Edge& known, bool waiting) noexcept;
  Shard& shard(std::uint64_t page) noexcept { return shards_[shard_of(page)]; }

  std::array<Shard, kShards> shards_;
  std::atomic<std::uint64_t> uncounted_{0};
};

}  // namespace vramguard
