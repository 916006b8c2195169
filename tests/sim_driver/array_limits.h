// Which extents and flags an array may have.
#pragma once

#include "tests/sim_driver/array_shape.h"

namespace vgsim {

// Flags that go together, and extents within the device's attributes.
bool is_within_limits(const ArrayShape& shape);

// Whether a planar format, if it is one, has a flat shape that its second plane divides.
bool fits_planes(const ArrayShape& shape);

}  // namespace vgsim
