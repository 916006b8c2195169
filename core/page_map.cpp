#include "core/page_map.h"

namespace vramguard {
namespace {

struct Pages {
  std::uint64_t first;
  std::uint64_t last;
  std::uint64_t count;

  explicit Pages(AddressRange range) noexcept : first(range.address / kPageBytes), last(first), count(0) {
    if (range.bytes == 0) return;
    const std::uint64_t to_the_end = UINT64_MAX - range.address;
    last = (range.address + (range.bytes - 1 < to_the_end ? range.bytes - 1 : to_the_end)) / kPageBytes;
    count = last - first + 1;
  }
  Bytes inner_bytes() const noexcept { return count > 2 ? (count - 2) * kPageBytes : 0; }
};

}  // namespace

PageMap::Claim PageMap::add(AddressRange range) noexcept {
  const Pages pages(range);
  Claim claim;
  claim.cost_ = pages.inner_bytes();
  if (pages.count > 0) add_edge(pages.first, claim.edges_[0]);
  if (pages.count > 1) add_edge(pages.last, claim.edges_[1]);
  for (const Claim::Edge& edge : claim.edges_) claim.cost_ += edge.paid ? kPageBytes : 0;
  return claim;
}

void PageMap::add_edge(std::uint64_t page, Claim::Edge& edge) noexcept {
  edge.page = page;
  edge.paid = true;
  Shard& home = shard(page);
  const std::lock_guard lock(home.mutex);
  try {
    Edge& known = home.edges[page];
    ++known.count;
    edge.counted = true;
    edge.paid = !known.secured;
  } catch (...) {
    uncounted_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool PageMap::wait_is_worthwhile(Claim& claim) noexcept {
  bool worthwhile = false;
  for (Claim::Edge& edge : claim.edges_) {
    if (!edge.counted || !edge.paid) continue;
    Shard& home = shard(edge.page);
    const std::lock_guard lock(home.mutex);
    const auto place = home.edges.find(edge.page);
    if (place == home.edges.end()) continue;
    Edge& known = place.value();
    set_waiting(edge, known, !known.secured);
    if (known.secured) {
      edge.paid = false;
      claim.cost_ -= kPageBytes;
    }
    worthwhile |= known.secured || known.count > known.waiting;
  }
  return worthwhile;
}

void PageMap::stop_waiting(Claim& claim) noexcept {
  for (Claim::Edge& edge : claim.edges_) {
    if (!edge.waiting) continue;
    Shard& home = shard(edge.page);
    const std::lock_guard lock(home.mutex);
    const auto place = home.edges.find(edge.page);
    if (place != home.edges.end()) set_waiting(edge, place.value(), false);
  }
}

void PageMap::set_waiting(Claim::Edge& edge, Edge& known, bool waiting) noexcept {
  if (edge.waiting == waiting) return;
  edge.waiting = waiting;
  known.waiting += waiting ? 1 : -1;
}

Bytes PageMap::secure(const Claim& claim) noexcept {
  Bytes refund = 0;
  for (const Claim::Edge& edge : claim.edges_) {
    if (!edge.counted || !edge.paid) continue;
    Shard& home = shard(edge.page);
    const std::lock_guard lock(home.mutex);
    const auto known = home.edges.find(edge.page);
    if (known == home.edges.end()) continue;
    if (known->second.secured) refund += kPageBytes;
    known.value().secured = true;
  }
  return refund;
}

Bytes PageMap::cancel(Claim& claim) noexcept {
  stop_waiting(claim);
  Bytes leaving = 0;
  for (const Claim::Edge& edge : claim.edges_) {
    if (edge.counted) leaving += drop_edge(edge.page, 0);
  }
  return leaving;
}

Bytes PageMap::remove(AddressRange range) noexcept {
  const Pages pages(range);
  Bytes leaving = pages.inner_bytes();
  // An edge that is unknown could not be counted when it was added, and was paid for by this range alone.
  if (pages.count > 0) leaving += drop_edge(pages.first, kPageBytes);
  if (pages.count > 1) leaving += drop_edge(pages.last, kPageBytes);
  return leaving;
}

Bytes PageMap::drop_edge(std::uint64_t page, Bytes if_unknown) noexcept {
  Shard& home = shard(page);
  const std::lock_guard lock(home.mutex);
  const auto known = home.edges.find(page);
  if (known == home.edges.end()) return if_unknown;
  if (--known.value().count > 0) return 0;
  const bool secured = known->second.secured;
  home.edges.erase(known);
  return secured ? kPageBytes : 0;
}

}  // namespace vramguard
