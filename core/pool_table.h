// The memory pools that are alive, and who is looking at one: a pool must not be destroyed meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace vramguard {

using PoolHandle = std::uint64_t;

// Thread-safe. A few pools a process: a vector under a lock that is never held while anything else is called.
class PoolTable {
 public:
  // Keeps its pool alive. Belongs to one thread and is short: a destroyer waits for it.
  class Use {
   public:
    Use(Use&& other) noexcept : table_(other.table_), pool_(other.pool_) { other.table_ = nullptr; }
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (table_ != nullptr) table_->end_use(pool_);
    }
    PoolHandle pool() const noexcept { return pool_; }

   private:
    friend class PoolTable;
    Use(PoolTable& table, PoolHandle pool) noexcept : table_(&table), pool_(pool) {}
    PoolTable* table_;
    PoolHandle pool_;
  };

  // False: no memory. A pool that is there stays; one that is closed is another, whose handle the driver gave away
  // again.
  bool add(PoolHandle pool, int device) noexcept;
  std::optional<int> device_of(PoolHandle pool) const noexcept;
  // The first pool of `device` from the cursor on; moves the cursor behind it. nullopt when there is none any more.
  // A round met every pool once only if changes() is the same before and after it, and not nullopt.
  std::optional<Use> next(int device, std::size_t& cursor) noexcept;
  // How often pools have come or been closed; nullopt while one is closed.
  std::optional<std::uint64_t> changes() const noexcept;

  // About to be destroyed: no new uses, and those under way have ended on return. False: unknown here, or another
  // thread is at it.
  bool close(PoolHandle pool) noexcept;
  // What was closed, and nothing else: the driver has refused, or the pool is gone.
  void reopen(PoolHandle pool) noexcept;
  void remove(PoolHandle pool) noexcept;

 private:
  struct Pool {
    PoolHandle handle;
    int device;
    unsigned uses = 0;
    bool closed = false;
  };

  void end_use(PoolHandle pool) noexcept;
  // With the lock held.
  std::vector<Pool>::iterator find_open(PoolHandle pool) noexcept;
  std::vector<Pool>::iterator find_closed(PoolHandle pool) noexcept;

  mutable std::mutex mutex_;
  std::uint64_t changes_ = 0;
  std::vector<Pool> pools_;
};

}  // namespace vramguard
