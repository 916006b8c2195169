#include "tests/sim_driver/pool_space.h"

#include <algorithm>
#include <iterator>

#include "tests/sim_driver/linear_heap.h"

namespace vgsim {
namespace {

constexpr std::uint64_t kRangeChunks = 128;  // 4 GiB of addresses

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Adds a run and joins it with its neighbours; returns the whole.
template <class Removed>
auto join(std::map<std::uint64_t, std::uint64_t>& runs, std::uint64_t address, std::uint64_t bytes, Removed removed) {
  auto next = runs.lower_bound(address);
  if (next != runs.end() && next->first == address + bytes) {
    bytes += next->second;
    removed(*next);
    next = runs.erase(next);
  }
  if (next != runs.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == address) {
      address = before->first;
      bytes += before->second;
      removed(*before);
      runs.erase(before);
    }
  }
  return runs.emplace(address, bytes).first;
}

}  // namespace

PoolSpace::~PoolSpace() {
  for (const auto& [address, chunks] : taken_ranges_) ranges_->give(address, chunks);
}

std::optional<std::uint64_t> PoolSpace::allocate(std::uint64_t bytes, const std::function<bool(std::uint64_t)>& admit) {
  bytes = rounded(bytes);
  if (const auto fit = holes_by_size_.lower_bound({bytes, 0}); fit != holes_by_size_.end())
    return carve(holes_.find(fit->second), bytes);
  const auto grown = grow(bytes, admit);
  if (grown == holes_.end()) return std::nullopt;
  return carve(grown, bytes);
}

std::uint64_t PoolSpace::carve(Runs::iterator hole, std::uint64_t bytes) {
  const auto [address, hole_bytes] = *hole;
  remove_hole(hole);
  if (hole_bytes > bytes) add_hole(address + bytes, hole_bytes - bytes);
  return address;
}

PoolSpace::Runs::iterator PoolSpace::grow(std::uint64_t bytes, const std::function<bool(std::uint64_t)>& admit) {
  auto gap = best_gap(bytes);
  if (gap == gaps_.end()) {
    if (!add_range(bytes)) return holes_.end();
    gap = best_gap(bytes);
  }
  const auto [address, gap_bytes] = *gap;
  const std::uint64_t more = std::min(gap_bytes, chunks_of(bytes - hole_before(address)) * kChunkBytes);
  if (!admit(more)) return holes_.end();
  gaps_.erase(gap);
  if (gap_bytes > more) gaps_.emplace(address + more, gap_bytes - more);
  for (std::uint64_t done = 0; done < more; done += kChunkBytes) backed_[(address + done) / kChunkBytes] = 0;
  return add_hole(address, more);
}

// The smallest stretch of free addresses that is long enough: a gap and the holes on both sides of it. There are few.
PoolSpace::Runs::iterator PoolSpace::best_gap(std::uint64_t bytes) {
  auto best = gaps_.end();
  std::uint64_t best_bytes = 0;
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const std::uint64_t stretch = hole_before(gap->first) + gap->second + hole_at(gap->first + gap->second);
    if (stretch < bytes || (best != gaps_.end() && stretch >= best_bytes)) continue;
    best = gap;
    best_bytes = stretch;
  }
  return best;
}

bool PoolSpace::add_range(std::uint64_t bytes) {
  for (const std::uint64_t chunks : {std::max(kRangeChunks, chunks_of(bytes)), chunks_of(bytes)}) {
    const auto address = ranges_->take(chunks);
    if (!address) continue;
    taken_ranges_.emplace_back(*address, chunks);
    join(gaps_, *address, chunks * kChunkBytes, [](const auto&) {});
    return true;
  }
  return false;
}

void PoolSpace::release(std::uint64_t address, std::uint64_t bytes) {
  bytes = rounded(bytes);
  for (std::uint64_t chunk = address / kChunkBytes; chunk <= (address + bytes - 1) / kChunkBytes; ++chunk)
    backed_[chunk] = epoch_;
  add_hole(address, bytes);
}

std::uint64_t PoolSpace::trim(std::uint64_t keep) {
  std::vector<std::uint64_t> whole;
  for (auto it = holes_by_size_.lower_bound({kChunkBytes, 0}); it != holes_by_size_.end(); ++it) {
    const auto [bytes, address] = *it;
    for (std::uint64_t chunk = chunks_of(address); (chunk + 1) * kChunkBytes <= address + bytes; ++chunk)
      if (backed_.at(chunk) < epoch_) whole.push_back(chunk * kChunkBytes);
  }
  std::sort(whole.rbegin(), whole.rend());
  std::uint64_t given = 0;
  for (const std::uint64_t address : whole) {
    if (reserved() <= keep) break;
    give_chunk(address);
    given += kChunkBytes;
  }
  return given;
}

void PoolSpace::give_chunk(std::uint64_t address) {
  const auto hole = std::prev(holes_.upper_bound(address));
  const auto [start, bytes] = *hole;
  remove_hole(hole);
  if (address > start) add_hole(start, address - start);
  if (start + bytes > address + kChunkBytes) add_hole(address + kChunkBytes, start + bytes - address - kChunkBytes);
  backed_.erase(address / kChunkBytes);
  join(gaps_, address, kChunkBytes, [](const auto&) {});
}

std::uint64_t PoolSpace::hole_before(std::uint64_t address) const {
  const auto next = holes_.lower_bound(address);
  if (next == holes_.begin()) return 0;
  const auto before = std::prev(next);
  return before->first + before->second == address ? before->second : 0;
}

std::uint64_t PoolSpace::hole_at(std::uint64_t address) const {
  const auto hole = holes_.find(address);
  return hole == holes_.end() ? 0 : hole->second;
}

PoolSpace::Runs::iterator PoolSpace::add_hole(std::uint64_t address, std::uint64_t bytes) {
  const auto hole = join(holes_, address, bytes, [this](const auto& run) {
    holes_by_size_.erase({run.second, run.first});
  });
  holes_by_size_.emplace(hole->second, hole->first);
  return hole;
}

void PoolSpace::remove_hole(Runs::iterator hole) {
  holes_by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

}  // namespace vgsim
