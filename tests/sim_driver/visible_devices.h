// Which devices CUDA_VISIBLE_DEVICES shows, and in which order. Numbers in it are those of CUDA's own order.
#pragma once

#include <string>
#include <vector>

namespace vgsim {

// Indices into `uuids`. `variable` is nullptr when the variable is not set. Indices and UUIDs, full or shortened as
// long as only one device fits; the first item that names no device ends the list; a device named twice empties it.
std::vector<int> visible_devices(const char* variable, const std::vector<std::string>& uuids);

// The physical indices in the order in which CUDA counts: `fastest` first, then as they are plugged in;
// CUDA_DEVICE_ORDER, `order`, can say PCI_BUS_ID. nullptr: not set.
std::vector<int> device_order(const char* order, int count, int fastest);

}  // namespace vgsim
