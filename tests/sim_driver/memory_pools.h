// Memory pools: what stream-ordered allocations come from.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "tests/sim_driver/chunk_ranges.h"
#include "tests/sim_driver/memory_owner.h"
#include "tests/sim_driver/pool_space.h"

namespace vgsim {

// A figure and the highest it has been since it was last reset.
struct Watermark {
  std::uint64_t current = 0;
  std::uint64_t high = 0;

  void set(std::uint64_t value) {
    current = value;
    if (high < value) high = value;
  }
  void reset_high() { high = current; }
};

// One pool of this process, or another process's that was imported. Guarded by DriverLock.
class MemoryPool : public MemoryOwner, public std::enable_shared_from_this<MemoryPool> {
 public:
  // `device` is nullptr for a pool on the host.
  MemoryPool(const CUmemPoolProps& props, Device* device, ChunkRanges& ranges);
  ~MemoryPool() override;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  CUresult allocate(std::uint64_t bytes, CUdeviceptr& out);
  void take_back(const Allocation& allocation) override;
  CUmemoryPool pool_handle() override { return reinterpret_cast<CUmemoryPool>(this); }

  // Gives back what was freed before the last synchronisation, down to `keep` bytes.
  void trim(std::uint64_t keep);
  // Everything freed so far may be given back, and what is beyond the threshold is.
  void synchronise();

  const CUmemPoolProps props;
  Device* const device;
  const std::uint64_t key;  // names the pool among those of this process
  bool is_default = false;
  std::uint64_t threshold = 0;
  int reuse[3] = {1, 1, 1};  // CU_MEMPOOL_ATTR_REUSE_*
  Watermark reserved;
  Watermark used;
  std::map<int, CUmemAccess_flags> access;  // of devices by ordinal

 private:
  bool admit(std::uint64_t bytes);

  PoolSpace space_;
};

// An imported pool: its memory is the exporter's and costs this process nothing.
struct ImportedPool {
  std::uint64_t exporter_pid;
  std::uint64_t key;
  Device* device;
  CUmemPoolProps props;
};

struct Pools {
  // The pools that a program has a handle of.
  std::unordered_map<const void*, std::shared_ptr<MemoryPool>> own;
  std::unordered_map<const void*, std::unique_ptr<ImportedPool>> imported;
  std::map<const Device*, std::shared_ptr<MemoryPool>> default_of;
  std::map<const Device*, std::shared_ptr<MemoryPool>> current_of;  // where it is not the default
  std::shared_ptr<MemoryPool> host_default, host_current;
  std::unordered_set<MemoryPool*> unsettled;  // pools for the next synchronisation to look at
  std::uint64_t next_key = 1;
};

// Never destroyed. Guarded by DriverLock.
Pools& pools();

// nullptr for what is no pool of this process.
std::shared_ptr<MemoryPool> find_pool(CUmemoryPool handle);
ImportedPool* find_imported_pool(CUmemoryPool handle);

// nullptr in `device` is the host.
std::shared_ptr<MemoryPool> make_pool(const CUmemPoolProps& props, Device* device);
std::shared_ptr<MemoryPool> default_pool(Device* device);
std::shared_ptr<MemoryPool> current_pool(Device* device);
CUresult set_current_pool(Device* device, CUmemoryPool handle);

// The addresses that pools of a device have.
ChunkRanges& pool_ranges(const Device& device);

// What every synchronisation does to the pools.
void synchronise_pools();

}  // namespace vgsim
