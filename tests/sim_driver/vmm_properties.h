// What a program asks of physical memory: whether it can be had, and from which device.
#pragma once

#include "tests/sim_driver/driver.h"

namespace vgsim {

// `device` is nullptr for memory of the host.
CUresult check_properties(const CUmemAllocationProp& prop, Device*& device);

}  // namespace vgsim
