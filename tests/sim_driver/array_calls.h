// What the calls for arrays and those for mipmapped arrays have in common.
#pragma once

#include "tests/sim_driver/array_objects.h"

namespace vgsim {

// Flags that this version of the driver knows.
bool are_flags_known(unsigned int flags);

template <class Descriptor>
ArrayShape shape_of(const Descriptor& wanted, unsigned int levels) {
  return {wanted.Width, wanted.Height, wanted.Depth, wanted.Format, wanted.NumChannels, wanted.Flags, levels};
}

// `array` is nullptr for an unknown handle.
CUresult memory_requirements(const ArrayObject* array, CUdevice device, CUDA_ARRAY_MEMORY_REQUIREMENTS_v1* out);
CUresult get_sparse_properties(const ArrayObject* array, CUDA_ARRAY_SPARSE_PROPERTIES_v1* out);

}  // namespace vgsim
