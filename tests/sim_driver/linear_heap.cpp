#include "tests/sim_driver/linear_heap.h"

#include <iterator>

#include "tests/sim_driver/sizes.h"

namespace vgsim {
namespace {

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
std::uint64_t page_of(std::uint64_t address) { return address / kPageBytes; }

}  // namespace

std::optional<std::uint64_t> LinearHeap::allocate(std::uint64_t bytes,
                                                  const std::function<bool(std::uint64_t)>& admit) {
  return bytes <= kSmallRequestBytes ? allocate_small(rounded(bytes), admit) : allocate_large(bytes, admit);
}

std::optional<std::uint64_t> LinearHeap::allocate_small(std::uint64_t bytes,
                                                        const std::function<bool(std::uint64_t)>& admit) {
  if (const auto hole = holes_by_size_.lower_bound({bytes, 0}); hole != holes_by_size_.end()) {
    const auto [hole_bytes, address] = *hole;
    remove_hole(address);
    if (hole_bytes > bytes) add_hole(address + bytes, hole_bytes - bytes);
    ++users_[page_of(address)];
    return address;
  }
  const auto page = space_->take(1);
  if (!page) return std::nullopt;
  if (!admit(kPageBytes)) {
    space_->give(*page, 1);
    return std::nullopt;
  }
  users_[*page] = 1;
  add_hole(*page * kPageBytes + bytes, kPageBytes - bytes);
  return *page * kPageBytes;
}

std::optional<std::uint64_t> LinearHeap::allocate_large(std::uint64_t bytes,
                                                        const std::function<bool(std::uint64_t)>& admit) {
  const std::uint64_t pages = pages_of(bytes);
  const auto first = space_->take(pages);
  if (!first) return std::nullopt;
  if (!admit(pages * kPageBytes)) {
    space_->give(*first, pages);
    return std::nullopt;
  }
  const std::uint64_t address = *first * kPageBytes;
  const std::uint64_t last = *first + pages - 1;
  if (pages > 1) whole_runs_.emplace(*first, pages - 1);
  users_[last] = 1;
  const std::uint64_t end = address + rounded(bytes);
  if (end < (last + 1) * kPageBytes) add_hole(end, (last + 1) * kPageBytes - end);
  return address;
}

std::uint64_t LinearHeap::release(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + rounded(bytes);
  const std::uint64_t last = page_of(end - 1);
  std::uint64_t freed = 0;
  if (const auto run = whole_runs_.find(page_of(address)); run != whole_runs_.end() && bytes > kSmallRequestBytes) {
    space_->give(run->first, run->second);
    freed += run->second * kPageBytes;
    whole_runs_.erase(run);
  }
  const std::uint64_t part = address > last * kPageBytes ? address : last * kPageBytes;
  return freed + leave_page(last, part, end - part);
}

std::uint64_t LinearHeap::leave_page(std::uint64_t page, std::uint64_t part, std::uint64_t part_bytes) {
  const auto user = users_.find(page);
  if (--user->second != 0) {
    add_hole(part, part_bytes);
    return 0;
  }
  users_.erase(user);
  auto hole = holes_.lower_bound(page * kPageBytes);
  while (hole != holes_.end() && hole->first < (page + 1) * kPageBytes) {
    holes_by_size_.erase({hole->second, hole->first});
    hole = holes_.erase(hole);
  }
  space_->give(page, 1);
  return kPageBytes;
}

void LinearHeap::add_hole(std::uint64_t address, std::uint64_t bytes) {
  auto next = holes_.lower_bound(address);
  if (next != holes_.end() && next->first == address + bytes && page_of(next->first) == page_of(address)) {
    bytes += next->second;
    holes_by_size_.erase({next->second, next->first});
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == address && page_of(before->first) == page_of(address)) {
      address = before->first;
      bytes += before->second;
      holes_by_size_.erase({before->second, before->first});
      holes_.erase(before);
    }
  }
  holes_.emplace(address, bytes);
  holes_by_size_.emplace(bytes, address);
}

void LinearHeap::remove_hole(std::uint64_t address) {
  const auto hole = holes_.find(address);
  holes_by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

std::uint64_t LinearHeap::clear() {
  const std::uint64_t bytes = physical_bytes();
  for (const auto& [first, pages] : whole_runs_) space_->give(first, pages);
  for (const auto& [page, users] : users_) space_->give(page, 1);
  holes_.clear();
  holes_by_size_.clear();
  users_.clear();
  whole_runs_.clear();
  return bytes;
}

std::uint64_t LinearHeap::physical_bytes() const {
  std::uint64_t pages = users_.size();
  for (const auto& [first, run] : whole_runs_) pages += run;
  return pages * kPageBytes;
}

}  // namespace vgsim
