#include "tests/sim_driver/array_objects.h"

#include <algorithm>

#include "tests/sim_driver/array_format.h"

namespace vgsim {
namespace {

constexpr std::uint64_t kMaxSharingBytes = kMiB;  // larger arrays have their pages alone

bool is_inside(std::uint64_t start, std::uint64_t length, std::uint64_t end) {
  return start <= end && length <= end - start;
}

}  // namespace

Arrays& arrays() {
  static auto* const all = new Arrays;
  return *all;
}

CUresult make_array(const ArrayShape& shape, ArrayObject& array) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!is_valid_shape(shape)) return CUDA_ERROR_INVALID_VALUE;
  array.context = context;
  array.shape = shape;
  if (shape.is_sparse() || shape.is_deferred()) return CUDA_SUCCESS;
  const Device& device = *context->device;
  const std::uint64_t bytes = required_bytes(shape);
  if (bytes <= kMaxSharingBytes) {
    ArrayPages& pages = arrays().pages[{context, shape.format}];
    array.place = pages.take(bytes, [&] { return driver().take(device, kPageBytes); });
    return array.place ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  }
  const std::uint64_t whole_pages = pages_of(bytes) * kPageBytes;
  if (!driver().take(device, whole_pages)) return CUDA_ERROR_OUT_OF_MEMORY;
  array.own_bytes = whole_pages;
  return CUDA_SUCCESS;
}

void end_array(ArrayObject& array) {
  const Device& device = *array.context->device;
  driver().give(device, array.own_bytes);
  if (array.place && arrays().pages[{array.context, array.shape.format}].give(*array.place))
    driver().give(device, kPageBytes);
  for (const auto& [index, part] : array.parts) {
    end_array(*arrays().arrays.find(part));
    arrays().arrays.remove(part);
  }
}

CUarray part_of(ArrayObject& whole, unsigned int index, const ArrayShape& shape) {
  const auto known = whole.parts.find(index);
  if (known != whole.parts.end()) return known->second;
  ArrayObject part;
  part.context = whole.context;
  part.shape = shape;
  part.whole = &whole;
  return whole.parts[index] = arrays().arrays.add<CUarray>(std::move(part));
}

void end_arrays_of(Context& context) {
  Arrays& all = arrays();
  const auto give_back = [&](ArrayObject& array) {
    if (array.context != &context) return false;
    array.parts.clear();  // they go by themselves
    end_array(array);
    return true;
  };
  all.arrays.remove_if(give_back);
  all.mipmaps.remove_if(give_back);
  const auto first = all.pages.lower_bound({&context, static_cast<CUarray_format>(0)});
  auto last = first;
  while (last != all.pages.end() && last->first.first == &context) ++last;
  all.pages.erase(first, last);
}

CUresult check_array_box(CUarray handle, const ArrayBox& box) {
  const ArrayObject* array = arrays().arrays.find(handle);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  if (is_planar(array->shape.format) || !array->has_memory()) return CUDA_ERROR_INVALID_VALUE;
  const bool inside = is_inside(box.x, box.width, row_bytes(array->shape)) &&
                      is_inside(box.y, box.height, std::max<std::uint64_t>(row_count(array->shape), 1)) &&
                      is_inside(box.z, box.depth, slice_count(array->shape));
  return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace vgsim
