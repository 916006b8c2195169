#include "core/graph_table.h"

#include <utility>

namespace vramguard {

bool GraphTable::set(GraphExecHandle exec, std::vector<GraphDemand> demands) noexcept try {
  const std::lock_guard lock(mutex_);
  if (demands.empty()) {
    graphs_.erase(exec);
  } else {
    graphs_.insert_or_assign(exec, Graph{std::move(demands), std::nullopt});
  }
  return true;
} catch (...) {
  return false;
}

bool GraphTable::demands(GraphExecHandle exec, const GraphBacking& backing,
                         std::vector<GraphDemand>& result) const noexcept try {
  result.clear();
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(exec);
  if (found != graphs_.end() && found->second.backing != backing) result = found->second.demands;
  return true;
} catch (...) {
  return false;
}

void GraphTable::backed(GraphExecHandle exec, const GraphBacking& backing) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(exec);
  if (found != graphs_.end()) found.value().backing = backing;
}

std::vector<GraphDemand> GraphTable::take(GraphExecHandle exec) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(exec);
  if (found == graphs_.end()) return {};
  std::vector<GraphDemand> demands = std::move(found.value().demands);
  graphs_.erase(found);
  return demands;
}

}  // namespace vramguard
