#include "shim/cuda_ordinal.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace vramguard {

namespace {

constexpr int kNobodyKnows = -1;  // which of the devices it is

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Without another wish CUDA begins with the device that it takes for the fastest, and does not say which that is: only
// where all are of one model is the order certain.
bool in_pci_order(const std::vector<ListedDevice>& listed, const char* order) {
  if (order != nullptr && std::string_view(order) == "PCI_BUS_ID") return true;
  return std::ranges::all_of(listed, [&](const ListedDevice& device) {
    return !device.model.empty() && device.model == listed.front().model;
  });
}

// The index of the one device that the item of CUDA_VISIBLE_DEVICES names; nullopt for what CUDA would not take.
std::optional<int> device_of(std::string_view item, const std::vector<ListedDevice>& listed, bool in_order) {
  if (item.starts_with("GPU-")) {
    std::optional<int> found;
    for (std::size_t i = 0; i < listed.size(); ++i) {
      if (!listed[i].uuid.starts_with(item)) continue;
      if (found) return std::nullopt;
      found = static_cast<int>(i);
    }
    return found;
  }
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
  if (item.empty() || error != std::errc{} || end != item.data() + item.size() || number >= listed.size()) {
    return std::nullopt;
  }
  return in_order ? static_cast<int>(number) : kNobodyKnows;
}

}  // namespace

int cuda_ordinal(std::string_view uuid, const std::vector<ListedDevice>& listed, const char* visible,
                 const char* order) noexcept try {
  if (uuid.empty()) return -1;
  const auto self = std::ranges::find(listed, uuid, &ListedDevice::uuid);
  const int index = self == listed.end() ? -1 : static_cast<int>(self - listed.begin());
  const bool in_order = in_pci_order(listed, order);
  if (visible == nullptr) return in_order ? index : -1;

  std::vector<int> before;
  int ordinal = -1;
  for (std::string_view rest = visible;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = trimmed(rest.substr(0, comma));
    if (item.starts_with("MIG-")) {  // of a partition alone CUDA shows nothing else
      return before.empty() && uuid.starts_with(item) ? 0 : ordinal;
    }
    const std::optional<int> device = device_of(item, listed, in_order);
    if (!device) return ordinal;
    if (*device != kNobodyKnows && std::ranges::find(before, *device) != before.end()) return -1;
    if (*device == index && index >= 0) ordinal = static_cast<int>(before.size());
    before.push_back(*device);
    if (comma == std::string_view::npos) return ordinal;
    rest.remove_prefix(comma + 1);
  }
} catch (...) {
  return -1;
}

}  // namespace vramguard
