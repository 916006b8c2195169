// Graphs that allocate memory.
#pragma once

#include "tests/sim_driver/tests/graph_fixture.h"

// 64 MiB that are freed.
struct Simple {
  Graph graph;
  CUdeviceptr address = 0;
  explicit Simple(std::size_t bytes = 64 * kMiB, int device = 0) {
    graph.free(address, {graph.alloc(bytes, address, {}, device)});
  }
};
