// Memory that several processes hold: the part of SharedState that knows when it goes back to the device.
#include <algorithm>

#include "tests/sim_driver/shared_state_layout.h"

namespace vgsim {
namespace {

std::uint64_t bit_of(int slot) { return 1ULL << (slot % 64); }
bool is_held(const SharedMemory& memory) {
  return std::any_of(std::begin(memory.holders), std::end(memory.holders), [](std::uint64_t bits) { return bits; });
}

}  // namespace

// Ids begin at different places from one end of the table to the other, so that a free place is found at once.
std::optional<SharedMemoryKey> SharedState::share(int device, std::uint64_t bytes) {
  const Lock lock(layout_);
  if (layout_->shared_count == kMaxSharedMemory) return std::nullopt;
  std::uint64_t id = layout_->last_shared_id + 1;
  while (layout_->shared[id % kMaxSharedMemory].id != 0) ++id;
  layout_->last_shared_id = id;
  ++layout_->shared_count;
  layout_->shared[id % kMaxSharedMemory] = SharedMemory{id, bytes, device, slot_, false, {}};
  return SharedMemoryKey{id};
}

bool SharedState::hold(SharedMemoryKey key) {
  const Lock lock(layout_);
  SharedMemory& memory = layout_->shared[key.id % kMaxSharedMemory];
  if (memory.id != key.id) return false;
  drop_dead();
  if (memory.id != key.id) return false;
  memory.holders[slot_ / 64] |= bit_of(slot_);
  return true;
}

void SharedState::stop_holding(SharedMemoryKey key) {
  const Lock lock(layout_);
  SharedMemory& memory = layout_->shared[key.id % kMaxSharedMemory];
  if (memory.id != key.id) return;
  memory.holders[slot_ / 64] &= ~bit_of(slot_);
  settle(memory);
}

void SharedState::disown(SharedMemoryKey key) {
  const Lock lock(layout_);
  SharedMemory& memory = layout_->shared[key.id % kMaxSharedMemory];
  if (memory.id != key.id) return;
  memory.owner_left = true;
  settle(memory);
}

void SharedState::settle(SharedMemory& memory) {
  if (!memory.owner_left || is_held(memory)) return;
  std::uint64_t& used = layout_->processes[memory.owner].used[memory.device];
  used -= std::min(used, memory.bytes);
  memory = SharedMemory{};
  --layout_->shared_count;
}

void SharedState::forget_shared_memory_of(int slot) {
  if (layout_->shared_count == 0) return;
  for (SharedMemory& memory : layout_->shared) {
    if (memory.id == 0) continue;
    if (memory.owner == slot) {
      memory = SharedMemory{};
      --layout_->shared_count;
      continue;
    }
    memory.holders[slot / 64] &= ~bit_of(slot);
    settle(memory);
  }
}

}  // namespace vgsim
