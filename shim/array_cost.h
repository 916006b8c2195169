// What an array will take from the device, before it is made.
#pragma once

#include <optional>

#include "core/bytes.h"
#include "shim/driver_abi.h"

namespace vramguard {

// Up to this size arrays share pages with others of their kind, in an order that nothing shows: then the cost is a page
// or none. Larger ones take whole pages (183 of 183 shapes; H200, driver 580).
constexpr Bytes kSmallArrayBytes = 1_MiB;

// The driver's own answer, from a twin whose mapping is deferred and which therefore takes nothing (8 us); on drivers
// before 11.6 an estimate from the shape. nullopt where the driver would not make such an array. Needs a current
// context, that of `device`. `levels`: 0 for an array without mipmaps.
std::optional<Bytes> array_requirement(const abi::CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned int levels,
                                       abi::CUdevice device) noexcept;

}  // namespace vramguard
