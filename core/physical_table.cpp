#include "core/physical_table.h"

#include <utility>

namespace vramguard {

bool PhysicalTable::add(PhysicalHandle handle, PhysicalBlock block) noexcept try {
  const std::lock_guard lock(mutex_);
  const BlockId id = next_id_++;
  blocks_.try_emplace(id, Block{block});
  try {
    by_handle_[handle] = id;
  } catch (...) {
    blocks_.erase(id);
    return false;
  }
  return true;
} catch (...) {
  return false;
}

void PhysicalTable::retained(PhysicalHandle handle, std::uint64_t address) noexcept try {
  const std::lock_guard lock(mutex_);
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return;
  --mapping;
  if (address - mapping->first >= mapping->second.bytes) return;
  const auto block = blocks_.find(mapping->second.block);
  if (block == blocks_.end()) return;
  by_handle_[handle] = block->first;
  ++block.value().references;
} catch (...) {  // no memory: a release of that handle is then not counted, and its memory stays charged
}

std::optional<PhysicalTable::BlockId> PhysicalTable::take_reference(PhysicalHandle handle) noexcept {
  const std::lock_guard lock(mutex_);
  BlockId id = 0;
  Block* block = find(handle, id);
  if (block == nullptr) return std::nullopt;
  ++block->holds;
  if (--block->references == 0) by_handle_.erase(handle);
  return id;
}

std::optional<PhysicalBlock> PhysicalTable::end_reference(BlockId block) noexcept {
  const std::lock_guard lock(mutex_);
  return drop_hold(block);
}

void PhysicalTable::put_back_reference(PhysicalHandle handle, BlockId block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return;
  --found.value().holds;
  ++found.value().references;
  try {
    by_handle_[handle] = block;
  } catch (...) {  // no memory: it stays charged
  }
}

std::optional<PhysicalTable::BlockId> PhysicalTable::begin_mapping(PhysicalHandle handle) noexcept {
  const std::lock_guard lock(mutex_);
  BlockId id = 0;
  Block* block = find(handle, id);
  if (block == nullptr) return std::nullopt;
  ++block->holds;
  return id;
}

bool PhysicalTable::mapped(BlockId block, std::uint64_t address, Bytes bytes) noexcept try {
  const std::lock_guard lock(mutex_);
  mappings_.insert_or_assign(address, Mapping{bytes, block});
  return true;
} catch (...) {
  return false;
}

std::optional<PhysicalBlock> PhysicalTable::not_mapped(BlockId block) noexcept { return end_reference(block); }

PhysicalTable::Mappings PhysicalTable::take_mappings(std::uint64_t address, Bytes bytes) noexcept {
  const std::lock_guard lock(mutex_);
  Mappings taken;
  for (auto place = mappings_.lower_bound(address); place != mappings_.end() && place->first - address < bytes;) {
    taken.insert(mappings_.extract(place++));
  }
  return taken;
}

bool PhysicalTable::end_mapping(Mappings& mappings, std::optional<PhysicalBlock>& ended) noexcept {
  ended.reset();
  if (mappings.empty()) return false;
  const BlockId block = mappings.begin()->second.block;
  mappings.erase(mappings.begin());
  const std::lock_guard lock(mutex_);
  ended = drop_hold(block);
  return true;
}

void PhysicalTable::put_back(Mappings&& mappings) noexcept {
  const std::lock_guard lock(mutex_);
  mappings_.merge(mappings);
}

PhysicalTable::Block* PhysicalTable::find(PhysicalHandle handle, BlockId& id) noexcept {
  const auto known = by_handle_.find(handle);
  if (known == by_handle_.end()) return nullptr;
  id = known->second;
  const auto block = blocks_.find(id);
  return block == blocks_.end() ? nullptr : &block.value();
}

std::optional<PhysicalBlock> PhysicalTable::drop_hold(BlockId id) noexcept {
  const auto found = blocks_.find(id);
  if (found == blocks_.end()) return std::nullopt;
  Block& block = found.value();
  if (--block.holds > 0 || block.references > 0) return std::nullopt;
  const PhysicalBlock gone = block.what;
  blocks_.erase(found);
  return gone;
}

}  // namespace vramguard
