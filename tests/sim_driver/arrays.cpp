#include "tests/sim_driver/array_calls.h"
#include "tests/sim_driver/array_format.h"
#include "tests/sim_driver/array_objects.h"
#include "tests/sim_driver/call.h"

namespace vgsim {
namespace {

CUresult create(CUarray* out, const ArrayShape& shape) {
  ArrayObject array;
  if (const CUresult result = make_array(shape, array); result != CUDA_SUCCESS) return result;
  *out = arrays().arrays.add<CUarray>(std::move(array));
  return CUDA_SUCCESS;
}

template <class Descriptor>
CUresult create_flat(CUarray* out, const Descriptor* wanted) {
  if (!out || !wanted) return CUDA_ERROR_INVALID_VALUE;
  return create(out, ArrayShape{wanted->Width, wanted->Height, 0, wanted->Format, wanted->NumChannels, 0, 0});
}

template <class Descriptor>
CUresult create_3d(CUarray* out, const Descriptor* wanted) {
  if (!out || !wanted || !are_flags_known(wanted->Flags)) return CUDA_ERROR_INVALID_VALUE;
  return create(out, shape_of(*wanted, 0));
}

CUresult destroy(CUarray handle) {
  ArrayObject* array = arrays().arrays.find(handle);
  if (!array || array->whole) return CUDA_ERROR_INVALID_HANDLE;
  end_array(*array);
  arrays().arrays.remove(handle);
  return CUDA_SUCCESS;
}

template <class Descriptor>
void put_flat(Descriptor& out, const ArrayShape& shape) {
  out.Width = static_cast<decltype(out.Width)>(shape.width);
  out.Height = static_cast<decltype(out.Height)>(shape.height);
  out.Format = shape.format;
  out.NumChannels = shape.channels;
}

template <class Descriptor>
CUresult get_flat(Descriptor* out, CUarray handle) {
  const ArrayObject* array = arrays().arrays.find(handle);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  put_flat(*out, array->shape);
  return CUDA_SUCCESS;
}

template <class Descriptor>
CUresult get_3d(Descriptor* out, CUarray handle) {
  if (const CUresult result = get_flat(out, handle); result != CUDA_SUCCESS) return result;
  const ArrayShape& shape = arrays().arrays.find(handle)->shape;
  out->Depth = static_cast<decltype(out->Depth)>(shape.depth);
  out->Flags = shape.flags;
  return CUDA_SUCCESS;
}

CUresult get_plane(CUarray* out, CUarray handle, unsigned int index) {
  ArrayObject* array = arrays().arrays.find(handle);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  const auto plane = plane_of(array->shape, index);
  if (!out || !plane) return CUDA_ERROR_INVALID_VALUE;
  *out = part_of(*array, index, *plane);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuArrayCreate, (CUarray * out, const CUDA_ARRAY_DESCRIPTOR_v1* wanted), create_flat(out, wanted))
VGSIM_API(cuArrayCreate_v2, (CUarray * out, const CUDA_ARRAY_DESCRIPTOR_v2* wanted), create_flat(out, wanted))
VGSIM_API(cuArray3DCreate, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR_v1* wanted), create_3d(out, wanted))
VGSIM_API(cuArray3DCreate_v2, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR_v2* wanted), create_3d(out, wanted))
VGSIM_API(cuArrayDestroy, (CUarray array), destroy(array))
VGSIM_API(cuArrayGetDescriptor, (CUDA_ARRAY_DESCRIPTOR_v1 * out, CUarray array), get_flat(out, array))
VGSIM_API(cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR_v2 * out, CUarray array), get_flat(out, array))
VGSIM_API(cuArray3DGetDescriptor, (CUDA_ARRAY3D_DESCRIPTOR_v1 * out, CUarray array), get_3d(out, array))
VGSIM_API(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR_v2 * out, CUarray array), get_3d(out, array))
VGSIM_API(cuArrayGetPlane, (CUarray * out, CUarray array, unsigned int index), get_plane(out, array, index))
VGSIM_API(cuArrayGetMemoryRequirements, (CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 * out, CUarray array, CUdevice device),
          memory_requirements(arrays().arrays.find(array), device, out))
VGSIM_API(cuArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES_v1 * out, CUarray array),
          get_sparse_properties(arrays().arrays.find(array), out))
