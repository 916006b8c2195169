// The life of contexts.
#pragma once

#include "tests/sim_driver/driver.h"

namespace vgsim {

// Takes the context's own memory and makes it alive; OUT_OF_MEMORY when the device has no room.
CUresult start_context(Context& context);

// Frees its linear and managed memory and gives everything back to the device.
void end_context(Context& context);

}  // namespace vgsim
