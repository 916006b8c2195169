#include "tests/sim_driver/visible_devices.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <numeric>

#include "tests/sim_driver/sizes.h"

namespace vgsim {
namespace {

int device_of(const std::string& item, const std::vector<std::string>& uuids) {
  const int count = static_cast<int>(uuids.size());
  if (item.rfind("GPU-", 0) == 0) {
    int found = -1;
    for (int i = 0; i < count; ++i) {
      if (uuids[static_cast<std::size_t>(i)].compare(0, item.size(), item) != 0) continue;
      if (found >= 0) return -1;
      found = i;
    }
    return found;
  }
  const bool digits = !item.empty() && item.size() < 9 &&
                      std::all_of(item.begin(), item.end(), [](unsigned char c) { return std::isdigit(c); });
  if (!digits) return -1;
  const int index = std::atoi(item.c_str());
  return index < count ? index : -1;
}

}  // namespace

std::vector<int> visible_devices(const char* variable, const std::vector<std::string>& uuids) {
  std::vector<int> visible;
  if (!variable) {
    visible.resize(uuids.size());
    std::iota(visible.begin(), visible.end(), 0);
    return visible;
  }
  for (const std::string& item : split_list(variable)) {
    const int device = device_of(item, uuids);
    if (device < 0) break;
    if (std::find(visible.begin(), visible.end(), device) != visible.end()) return {};
    visible.push_back(device);
  }
  return visible;
}

std::vector<int> device_order(const char* order, int count, int fastest) {
  std::vector<int> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  const bool by_speed = !order || std::string(order) != "PCI_BUS_ID";
  if (by_speed && fastest < count)
    std::rotate(devices.begin(), devices.begin() + fastest, devices.begin() + fastest + 1);
  return devices;
}

}  // namespace vgsim
