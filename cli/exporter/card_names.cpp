#include "cli/exporter/card_names.h"

namespace vramguard {

void CardNames::learn(const NvmlView& nvml) {
  for (const NvmlDevice& device : nvml.devices) index_by_uuid_[device.uuid] = device.index;
}

Labels CardNames::labels(const std::string& uuid) const {
  const auto found = index_by_uuid_.find(uuid);
  if (found == index_by_uuid_.end()) return {{"gpu_uuid", uuid}};
  return {{"gpu", std::to_string(found->second)}, {"gpu_uuid", uuid}};
}

}  // namespace vramguard
