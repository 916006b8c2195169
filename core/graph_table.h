// Executable graphs that allocate memory when they are launched, and how much at most on each device.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <tsl/robin_map.h>

#include "core/bytes.h"

namespace vramguard {

using GraphExecHandle = std::uint64_t;

// One device's part of a graph.
struct GraphDemand {
  int device;
  Bytes most;  // never more is taken at a launch
};

// What backs a graph's memory once it was launched: another launch on the same stream takes nothing, unless the memory
// was trimmed in between. On another stream the driver may have to take more, so that both can run at once.
struct GraphBacking {
  std::uint64_t stream;
  std::uint64_t trims;  // of all devices, by then
  friend bool operator==(const GraphBacking&, const GraphBacking&) = default;
};

// Thread-safe. No lock is held on return, and no exception leaves.
class GraphTable {
 public:
  // Replaces what is known of that handle, as handles come again. Without demands it is forgotten. False: no memory.
  bool set(GraphExecHandle exec, std::vector<GraphDemand> demands) noexcept;
  // What a launch with `backing` may take: empty where the graph allocates nothing or is backed so already. False: no
  // memory to tell.
  bool demands(GraphExecHandle exec, const GraphBacking& backing, std::vector<GraphDemand>& result) const noexcept;
  void backed(GraphExecHandle exec, const GraphBacking& backing) noexcept;
  // About to be destroyed; set() it again where the driver refuses.
  std::vector<GraphDemand> take(GraphExecHandle exec) noexcept;

 private:
  struct Graph {
    std::vector<GraphDemand> demands;
    std::optional<GraphBacking> backing;
  };

  mutable std::mutex mutex_;
  tsl::robin_map<GraphExecHandle, Graph> graphs_;
};

}  // namespace vramguard
