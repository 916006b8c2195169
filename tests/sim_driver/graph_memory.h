// The memory of graphs' allocation nodes: where it lies, and what it takes from the device.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "tests/sim_driver/chunk_ranges.h"
#include "tests/sim_driver/graphs.h"
#include "tests/sim_driver/memory_owner.h"
#include "tests/sim_driver/memory_pools.h"

namespace vgsim {

// What all graphs together take of one device. Memory is taken in chunks of 32 MiB when a graph is launched or
// uploaded, and stays until it is trimmed. Graphs that run one after another in a stream share it; those of different
// streams do after a synchronisation. Guarded by DriverLock.
class DeviceGraphMemory {
 public:
  explicit DeviceGraphMemory(Device& device) : device_(&device) {}

  // Memory for a graph that starts in a stream; false when the device has no room.
  bool start(std::uint64_t bytes, std::uint64_t stream);
  // The graph is done: `kept` of its `bytes` stay in use by allocations that it did not free.
  void finish(std::uint64_t bytes, std::uint64_t kept, std::uint64_t stream);
  // Kept memory that is in use no more.
  void end_kept(std::uint64_t bytes) { in_use_.set(in_use_.current - bytes); }

  void trim();
  void synchronise() { idle_of_stream_.clear(); }

  Watermark& used() { return in_use_; }
  Watermark& reserved() { return reserved_; }

 private:
  std::uint64_t idle_of_streams() const;

  Device* device_;
  Watermark reserved_;
  Watermark in_use_;
  std::map<std::uint64_t, std::uint64_t> idle_of_stream_;  // idle bytes that only that stream may use
};

// Never destroyed. Guarded by DriverLock.
DeviceGraphMemory& graph_memory(Device& device);

// What every synchronisation does to the graphs' memory.
void synchronise_graph_memory();

// Where the allocation nodes of one graph lie, fixed when they are added. Lives as long as the graph, an instance of it
// or an allocation that it did not free. Guarded by DriverLock.
class GraphAddresses : public MemoryOwner, public std::enable_shared_from_this<GraphAddresses> {
 public:
  ~GraphAddresses() override;

  // A place for an allocation node that depends on `after`: that of an allocation which is surely freed before, if it
  // is large enough, otherwise a new one. 0 where there are no addresses left.
  CUdeviceptr place(Device& device, std::uint64_t bytes, const std::vector<GraphNode*>& after);
  bool can_free(CUdeviceptr address) const;
  // A free node of the same graph; false when the address is not that of an allocation node without one.
  bool add_free(CUdeviceptr address, const GraphNode& node);

  // Takes what a launch needs on each device; false, with nothing taken, when one has no room.
  bool start(std::uint64_t stream);
  // Makes the allocation of a node while the graph runs.
  void begin_allocation(CUdeviceptr address, std::uint64_t bytes, Device& device);
  void take_back(const Allocation& allocation) override;
  // What the graph did not free stays in use.
  void finish(std::uint64_t stream);

  // Allocations that the graph did not free.
  std::size_t live() const { return live_.size(); }
  void free_all();

 private:
  struct Place {
    Device* device = nullptr;
    std::uint64_t bytes = 0;
    bool freed = false;
  };
  struct Reusable {
    CUdeviceptr address;
    std::uint64_t bytes;
    Device* device;
    const GraphNode* free_node;
  };
  struct Area {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  // address, chunks
    std::uint64_t next = 0, end = 0;                              // what is left of the last range
    std::set<std::uint64_t> chunks;                               // that some allocation node touches
    std::map<std::uint64_t, int> users;                           // chunk -> live allocations in it
  };

  CUdeviceptr extend(Device& device, Area& area, std::uint64_t bytes);
  std::vector<std::pair<Device*, std::uint64_t>> footprint() const;

  std::map<Device*, Area> areas_;
  std::map<CUdeviceptr, Place> places_;
  std::vector<Reusable> reusable_;
  std::set<CUdeviceptr> live_;
  bool running_ = false;
};

// The graph whose allocation node has this address; nullptr where there is none.
GraphAddresses* find_graph_addresses(CUdeviceptr address);

}  // namespace vgsim
