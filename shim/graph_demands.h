// How much a graph will take from each device when it is launched, read from its nodes.
#pragma once

#include <optional>
#include <vector>

#include "core/graph_table.h"
#include "shim/driver_abi.h"

namespace vramguard {

// Every allocation node by its size rounded up to 32 MiB, child graphs included: more than that a launch never took
// (nodes whose lives do not overlap share; H200, driver 580). nullopt: no memory to tell.
std::optional<std::vector<GraphDemand>> demands_of(abi::CUgraph graph) noexcept;

}  // namespace vramguard
