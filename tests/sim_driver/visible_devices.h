// Which devices CUDA_VISIBLE_DEVICES shows, and in which order.
#pragma once

#include <string>
#include <vector>

namespace vgsim {

// Physical indices. `variable` is nullptr when the variable is not set. Indices and UUIDs, full or shortened as long as
// only one device fits; the first item that names no device ends the list; a device named twice empties it.
std::vector<int> visible_devices(const char* variable, const std::vector<std::string>& uuids);

}  // namespace vgsim
