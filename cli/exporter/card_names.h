// The labels of a card: its UUID, and NVML's number where that was ever told.
#pragma once

#include <map>
#include <string>

#include "cli/nvml_view.h"
#include "core/state/series.h"

namespace vramguard {

// Remembers, so that a series keeps its labels while NVML is stuck. For one thread.
class CardNames {
 public:
  void learn(const NvmlView& nvml);
  Labels labels(const std::string& uuid) const;

 private:
  std::map<std::string, unsigned> index_by_uuid_;
};

}  // namespace vramguard
