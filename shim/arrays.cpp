// Arrays: plain, layered, cubemap, mipmapped. Sparse ones and those with deferred mapping take nothing by themselves:
// what is mapped into them is counted where it was created.
#include "shim/array_cost.h"
#include "shim/guarded_call.h"

namespace vramguard::entry {

namespace {

std::uint64_t number_of(const void* array) { return reinterpret_cast<std::uint64_t>(array); }

// The forms of a descriptor, as the youngest one.
CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY_DESCRIPTOR_v1& d) {
  return {d.Width, d.Height, 0, d.Format, d.NumChannels, 0};
}
CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY_DESCRIPTOR& d) {
  return {d.Width, d.Height, 0, d.Format, d.NumChannels, 0};
}
CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY3D_DESCRIPTOR_v1& d) {
  return {d.Width, d.Height, d.Depth, d.Format, d.NumChannels, d.Flags};
}
CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY3D_DESCRIPTOR& d) { return d; }

// What the card has free, where `device` is the current one.
std::optional<Bytes> card_free(const GuardedDevice& device) {
  std::size_t bytes = 0;
  if (current_device().device != &device) return std::nullopt;
  return forward(&DriverFunctions::cuMemGetInfo_v2, &bytes, nullptr) == CUDA_SUCCESS ? std::optional<Bytes>(bytes)
                                                                                     : std::nullopt;
}

std::optional<bool> less_by_a_page(std::optional<Bytes> less, std::optional<Bytes> more) {
  return less && more ? std::optional(*less + kPageBytes <= *more) : std::nullopt;
}

CUresult destroy_array(CUarray array) {
  const RelaxedCapture relaxed;
  return forward(&DriverFunctions::cuArrayDestroy, array);
}
CUresult destroy_array(CUmipmappedArray array) {
  const RelaxedCapture relaxed;
  return forward(&DriverFunctions::cuMipmappedArrayDestroy, array);
}

template <typename Array, typename Call>
CUresult create_large(const CurrentDevice& where, const Request& request, Array& array, Call&& call) {
  const Bytes pages = round_up(request.bytes, kPageBytes);
  return guarded_exact(*where.guard, *where.device, {request.api, pages}, Holder::Array, call, [&] {
    const ContextId context = where.guard->context_in_use(*where.device, where.context);
    where.guard->remember_array(*where.device, context, number_of(array), pages);
  });
}

// A page or none: tried where even the page does not fit, and measured afterwards.
template <typename Array, typename Call>
CUresult create_small(const CurrentDevice& where, const Request& request, Array& array, Call&& call) {
  Ledger& memory = where.device->memory;
  const auto reserve = [](Ledger& budget) {
    std::optional<Reservation> reservation = budget.reserve(kPageBytes);
    return reservation ? std::move(reservation) : budget.reserve_trial(0);
  };
  std::optional<Bytes> card_before;
  return guarded_call(
      *where.guard, *where.device, request, reserve,
      [&] {
        card_before = card_free(*where.device);
        return call();
      },
      [&](Reservation& reservation) {
        const bool trial = reservation.bytes() == 0;
        const ContextId context = where.guard->context_in_use(*where.device, where.context);
        where.guard->remember_array(*where.device, context, number_of(array), 0);
        where.guard->shared_page_taken(*where.device, reservation,
                                       less_by_a_page(card_free(*where.device), card_before));
        if (!trial || !memory.over_budget()) return true;
        where.guard->take_array(number_of(array));
        destroy_array(array);
        where.guard->shared_page_left(*where.device, true);
        return false;
      });
}

template <typename Array, typename Descriptor, typename... Levels>
CUresult create(const char* api, CUresult (*DriverFunctions::*function)(Array*, const Descriptor*, Levels...),
                Array* array, const Descriptor* descriptor, Levels... levels) {
  const CurrentDevice where = current_device();
  if (!where || array == nullptr || descriptor == nullptr) return forward(function, array, descriptor, levels...);
  const CUDA_ARRAY3D_DESCRIPTOR shape = widened(*descriptor);
  if ((shape.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0) {
    return forward(function, array, descriptor, levels...);
  }
  const std::optional<Bytes> bytes = array_requirement(shape, (0u + ... + levels), where.device->info.ordinal);
  if (!bytes) return forward(function, array, descriptor, levels...);

  Array created = nullptr;
  const auto call = [&] { return forward(function, &created, descriptor, levels...); };
  const CUresult result = *bytes > kSmallArrayBytes ? create_large(where, {api, *bytes}, created, call)
                                                    : create_small(where, {api, *bytes}, created, call);
  if (result == CUDA_SUCCESS) *array = created;
  return result;
}

template <typename Array>
CUresult destroy(CUresult (*DriverFunctions::*function)(Array), Array array) {
  Guard* guard = vramguard::guard();
  const std::optional<AllocationRecord> record = guard != nullptr ? guard->take_array(number_of(array)) : std::nullopt;
  GuardedDevice* device = record ? guard->device(record->device) : nullptr;
  if (device == nullptr) return forward(function, array);

  device->memory.free_begins();
  const bool small = record->bytes == 0;
  const std::optional<Bytes> card_before = small ? card_free(*device) : std::nullopt;
  const CUresult result = forward(function, array);
  if (result == CUDA_SUCCESS) {
    guard->forget(number_of(array), *record);
  } else {
    guard->put_back(number_of(array), *record);
  }
  device->memory.free_ends();
  if (small && result == CUDA_SUCCESS)
    guard->shared_page_left(*device, less_by_a_page(card_before, card_free(*device)));
  return result;
}

}  // namespace

CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* descriptor) {
  return create("cuArrayCreate", &DriverFunctions::cuArrayCreate, array, descriptor);
}

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  return create("cuArrayCreate_v2", &DriverFunctions::cuArrayCreate_v2, array, descriptor);
}

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* descriptor) {
  return create("cuArray3DCreate", &DriverFunctions::cuArray3DCreate, array, descriptor);
}

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return create("cuArray3DCreate_v2", &DriverFunctions::cuArray3DCreate_v2, array, descriptor);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                unsigned int levels) {
  return create("cuMipmappedArrayCreate", &DriverFunctions::cuMipmappedArrayCreate, array, descriptor, levels);
}

CUresult cuArrayDestroy(CUarray array) { return destroy(&DriverFunctions::cuArrayDestroy, array); }

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return destroy(&DriverFunctions::cuMipmappedArrayDestroy, array);
}

}  // namespace vramguard::entry
