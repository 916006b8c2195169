// The core's side of vramguard.h.
#pragma once

#include "shim/preload/contract.h"

namespace vramguard {

const vg_c_api& c_api() noexcept;

}  // namespace vramguard
