// What only the driver knows: how much pools and graph memory hold. Read when the bound on it matters, and trimmed
// before anything is refused.
#include "core/guard.h"

namespace vramguard {

namespace {

constexpr int kReadings = 4;  // where pools come and go meanwhile

}  // namespace

bool Guard::read_bounded(GuardedDevice& device) noexcept {
  const Bytes before = device.memory.admitted();
  if (device.pools_used.load(std::memory_order_relaxed)) read_pools(device);
  if (device.graphs_used.load(std::memory_order_relaxed)) read_graphs(device);
  return device.memory.admitted() < before;
}

void Guard::read_pools(GuardedDevice& device) noexcept {
  for (int reading = 0; reading < kReadings; ++reading) {
    const std::optional<std::uint64_t> changes = pools_.changes();
    const BoundedCharge::Mark mark = device.memory.mark(BoundedHolder::Pools);
    const std::optional<Bytes> bytes = sum_of_pools(device);
    if (!bytes) return;
    if (!changes || pools_.changes() != changes) continue;
    return device.memory.read(BoundedHolder::Pools, mark, *bytes);
  }
}

std::optional<Bytes> Guard::sum_of_pools(GuardedDevice& device) noexcept {
  Bytes sum = 0;
  std::size_t cursor = 0;
  while (const std::optional<PoolTable::Use> use = pools_.next(device.info.ordinal, cursor)) {
    const std::optional<Bytes> bytes = reader_.pool_bytes(use->pool());
    if (!bytes) return std::nullopt;
    sum += *bytes;
  }
  return sum;
}

void Guard::read_graphs(GuardedDevice& device) noexcept {
  const BoundedCharge::Mark mark = device.memory.mark(BoundedHolder::Graphs);
  const std::optional<Bytes> bytes = reader_.graph_bytes(device.info.ordinal);
  if (bytes) device.memory.read(BoundedHolder::Graphs, mark, *bytes);
}

bool Guard::trim(GuardedDevice& device) noexcept {
  Ledger& memory = device.memory;
  const Bytes before = memory.admitted();
  if (device.pools_used.load(std::memory_order_relaxed)) {
    std::size_t cursor = 0;
    while (const std::optional<PoolTable::Use> use = pools_.next(device.info.ordinal, cursor)) {
      reader_.trim_pool(use->pool());
    }
    read_pools(device);
  }
  if (device.graphs_used.load(std::memory_order_relaxed)) {
    read_graphs(device);
    if (memory.held(BoundedHolder::Graphs) > 0 && reader_.trim_graphs(device.info.ordinal)) graphs_trimmed(device);
  }
  return memory.admitted() < before;
}

void Guard::graphs_trimmed(GuardedDevice& device) noexcept {
  graph_trims_.fetch_add(1);
  read_graphs(device);
}

// Its memory stays until its last allocation is freed, and nothing tells of that any more: from now on it is part of
// what no call shows, and charged there before any reading can leave the pool out.
void Guard::pool_destroyed(GuardedDevice& device, PoolHandle pool, Bytes left) noexcept {
  device.memory.add_unseen(left);
  pools_.remove(pool);
  if (left > 0) device.measure_again.store(true, std::memory_order_relaxed);
  read_pools(device);
}

}  // namespace vramguard
