#include "core/allocation_table.h"

namespace vramguard {

AllocationTable::Insertion AllocationTable::insert(std::uint64_t address, const AllocationRecord& record) noexcept {
  Shard& home = shard(address);
  const std::lock_guard lock(home.mutex);
  Insertion insertion{true, {}};
  try {
    const auto [place, is_new] = home.records.try_emplace(address, record);
    if (!is_new) {
      insertion.displaced = place->second;
      home.bytes -= place->second.bytes;
      place.value() = record;
    }
    home.bytes += record.bytes;
    home.count.store(home.records.size(), std::memory_order_relaxed);
  } catch (...) {
    insertion.stored = false;
  }
  return insertion;
}

std::optional<AllocationRecord> AllocationTable::take(std::uint64_t address) noexcept {
  Shard& home = shard(address);
  if (home.count.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const std::lock_guard lock(home.mutex);
  const auto place = home.records.find(address);
  if (place == home.records.end()) return std::nullopt;
  const AllocationRecord record = place->second;
  home.bytes -= record.bytes;
  home.records.erase(place);
  home.count.store(home.records.size(), std::memory_order_relaxed);
  return record;
}

AllocationTable::Taken AllocationTable::take_all_of_context(std::uint32_t context,
                                                            std::uint64_t up_to_sequence) noexcept {
  const auto matches = [&](const AllocationRecord& record) {
    return record.context == context && record.sequence <= up_to_sequence;
  };
  Taken taken;
  for (Shard& home : shards_) {
    const std::lock_guard lock(home.mutex);
    std::size_t found = 0;
    for (const auto& [address, record] : home.records) found += matches(record) ? 1 : 0;
    // Memory first, so that nothing is taken that cannot be handed over.
    try {
      taken.allocations.reserve(taken.allocations.size() + found);
    } catch (...) {
      taken.complete = false;
      return taken;
    }
    for (auto place = home.records.begin(); place != home.records.end();) {
      if (!matches(place->second)) {
        ++place;
        continue;
      }
      taken.allocations.emplace_back(place->first, place->second);
      home.bytes -= place->second.bytes;
      place = home.records.erase(place);
    }
    home.count.store(home.records.size(), std::memory_order_relaxed);
  }
  return taken;
}

std::size_t AllocationTable::size() const noexcept {
  std::size_t sum = 0;
  for (const Shard& home : shards_) {
    const std::lock_guard lock(home.mutex);
    sum += home.records.size();
  }
  return sum;
}

Bytes AllocationTable::bytes() const noexcept {
  Bytes sum = 0;
  for (const Shard& home : shards_) {
    const std::lock_guard lock(home.mutex);
    sum += home.bytes;
  }
  return sum;
}

}  // namespace vramguard
