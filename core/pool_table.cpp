#include "core/pool_table.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace vramguard {

bool PoolTable::add(PoolHandle pool, int device) noexcept try {
  const std::lock_guard lock(mutex_);
  if (find_open(pool) != pools_.end()) return true;
  pools_.push_back({pool, device});
  ++changes_;
  return true;
} catch (...) {
  return false;
}

std::optional<int> PoolTable::device_of(PoolHandle pool) const noexcept {
  const std::lock_guard lock(mutex_);
  std::optional<int> device;
  for (const Pool& candidate : pools_) {
    if (candidate.handle == pool && (!device || !candidate.closed)) device = candidate.device;
  }
  return device;
}

std::optional<PoolTable::Use> PoolTable::next(int device, std::size_t& cursor) noexcept {
  const std::lock_guard lock(mutex_);
  for (; cursor < pools_.size(); ++cursor) {
    Pool& pool = pools_[cursor];
    if (pool.device != device || pool.closed) continue;
    ++cursor;
    ++pool.uses;
    return Use(*this, pool.handle);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> PoolTable::changes() const noexcept {
  const std::lock_guard lock(mutex_);
  const bool closed = std::ranges::any_of(pools_, &Pool::closed);
  return closed ? std::nullopt : std::optional(changes_);
}

// Its pool may have been closed since, and a new one with its handle cannot be there before this has ended.
void PoolTable::end_use(PoolHandle pool) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(pools_, [pool](const Pool& used) { return used.handle == pool && used.uses > 0; });
  if (found != pools_.end()) --found->uses;
}

bool PoolTable::close(PoolHandle pool) noexcept {
  using std::chrono::microseconds;
  {
    const std::lock_guard lock(mutex_);
    const auto found = find_open(pool);
    if (found == pools_.end()) return false;
    found->closed = true;
    ++changes_;
    if (found->uses == 0) return true;
  }
  const auto in_use = [&] {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(pools_, [pool](const Pool& used) { return used.handle == pool && used.uses > 0; });
  };
  for (microseconds pause(1); in_use(); pause = std::min(pause * 2, microseconds(500))) {
    std::this_thread::sleep_for(pause);
  }
  return true;
}

void PoolTable::reopen(PoolHandle pool) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = find_closed(pool);
  if (found != pools_.end()) found->closed = false;
}

void PoolTable::remove(PoolHandle pool) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = find_closed(pool);
  if (found != pools_.end()) pools_.erase(found);
}

std::vector<PoolTable::Pool>::iterator PoolTable::find_open(PoolHandle pool) noexcept {
  return std::ranges::find_if(pools_, [pool](const Pool& open) { return open.handle == pool && !open.closed; });
}

std::vector<PoolTable::Pool>::iterator PoolTable::find_closed(PoolHandle pool) noexcept {
  return std::ranges::find_if(pools_, [pool](const Pool& closed) { return closed.handle == pool && closed.closed; });
}

}  // namespace vramguard
