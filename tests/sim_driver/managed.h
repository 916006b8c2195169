// Managed memory: real host memory that takes pages of the device once it is touched there.
#pragma once

#include "tests/sim_driver/driver.h"

namespace vgsim {

// Takes the device pages of a range that the device touches; false when the device has no room for them. A range whose
// preferred place is the host takes none, unless `prefetched`.
bool touch_on_device(Allocation& allocation, std::uint64_t address, std::uint64_t bytes, Device& device,
                     bool prefetched = false);

// Gives the pages of a range back to the device.
void move_to_host(Allocation& allocation, std::uint64_t address, std::uint64_t bytes);

void end_managed(Allocation& allocation);

}  // namespace vgsim
