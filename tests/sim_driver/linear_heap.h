// Where the linear memory of one context lies: small requests share pages, large ones start on one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "tests/sim_driver/page_space.h"

namespace vgsim {

inline constexpr std::uint64_t kSmallRequestBytes = 1024 * 1024;  // up to this a request shares pages
inline constexpr std::uint64_t kAlignment = 512;

// Keeps what was measured on the real driver: a page counts from its first user to its last, requests up to 1 MiB lie
// at 512-byte steps inside one page, larger ones start on a page and leave the rest of their last page to small ones.
// The place itself is the best fit, which the driver's mostly is. Not thread-safe.
class LinearHeap {
 public:
  explicit LinearHeap(PageSpace& space) : space_(&space) {}
  ~LinearHeap() { clear(); }
  LinearHeap(const LinearHeap&) = delete;
  LinearHeap& operator=(const LinearHeap&) = delete;

  // The address of `bytes` (at least 1), or nothing. `admit` is asked for the physical bytes of the new pages.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, const std::function<bool(std::uint64_t)>& admit);

  // Physical bytes that go back to the device. `address` and `bytes` are those of an allocation.
  std::uint64_t release(std::uint64_t address, std::uint64_t bytes);

  // Forgets every allocation and returns the physical bytes they held.
  std::uint64_t clear();

  std::uint64_t physical_bytes() const;

 private:
  std::optional<std::uint64_t> allocate_small(std::uint64_t bytes, const std::function<bool(std::uint64_t)>& admit);
  std::optional<std::uint64_t> allocate_large(std::uint64_t bytes, const std::function<bool(std::uint64_t)>& admit);
  void add_hole(std::uint64_t address, std::uint64_t bytes);
  void remove_hole(std::uint64_t address);
  // Takes one user off a shared page and returns its bytes if that was the last.
  std::uint64_t leave_page(std::uint64_t page, std::uint64_t part, std::uint64_t part_bytes);

  PageSpace* space_;
  std::map<std::uint64_t, std::uint64_t> holes_;                     // address -> bytes, each inside one live page
  std::set<std::pair<std::uint64_t, std::uint64_t>> holes_by_size_;  // (bytes, address)
  std::unordered_map<std::uint64_t, std::uint64_t> users_;           // page with room to share -> allocations in it
  std::map<std::uint64_t, std::uint64_t> whole_runs_;  // first page -> pages that one allocation has alone
};

}  // namespace vgsim
