// Contexts: each takes about half a GiB that no allocation call shows, and takes its linear memory along when it ends.
#include "shim/current_device.h"
#include "shim/streams.h"

namespace vramguard::entry {

namespace {

GuardedDevice* guarded(Guard* guard, CUdevice ordinal) { return guard != nullptr ? guard->device(ordinal) : nullptr; }

enum class Origin { Created, Primary };

bool primary_is_alive(CUdevice device) {
  unsigned int flags = 0;
  int active = 1;
  return ask(&DriverQueries::cuDevicePrimaryCtxGetState, device, &flags, &active) != CUDA_SUCCESS || active != 0;
}

// A context that would be made before a sentinel that is required: memory that the program counts on is not there.
bool lacks_sentinel(Guard& guard, GuardedDevice& device) {
  return guard.config().sentinel_required && !sentinel_is_placed(guard, device);
}

// `call` makes a context, or gives the primary one.
template <typename Call>
CUresult create(CUcontext* context, CUdevice ordinal, Origin origin, Call&& call) {
  Guard* guard = vramguard::guard();
  GuardedDevice* device = guarded(guard, ordinal);
  if (device == nullptr) return call();
  const bool makes_one = device->sentinel.wanted() && (origin == Origin::Created || !primary_is_alive(ordinal));
  if (makes_one && lacks_sentinel(*guard, *device)) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result;
  {
    const bool in_the_way = makes_one && device->memory.sentinel_of_group() > 0;
    const std::optional<Reservation> room = in_the_way ? guard->room_for_context(*device) : std::nullopt;
    result = call();
  }
  if (result == CUDA_SUCCESS && context != nullptr) {
    guard->context_created(*device, reinterpret_cast<ContextHandle>(*context), origin == Origin::Primary);
  }
  return result;
}

// `call` destroys the context. The books follow only when it has: a refused one keeps its memory.
template <typename Call>
CUresult destroy(CUcontext context, Call&& call) {
  Guard* guard = vramguard::guard();
  const std::uint64_t youngest = guard != nullptr ? guard->sequence() : 0;
  streams_end();
  const CUresult result = call();
  if (result == CUDA_SUCCESS && guard != nullptr) {
    guard->context_destroyed(reinterpret_cast<ContextHandle>(context), youngest);
  }
  return result;
}

// `call` releases or resets the primary context. A release ends it only when it was the last one: the driver tells.
template <typename Call>
CUresult end_primary(CUdevice ordinal, Call&& call) {
  Guard* guard = vramguard::guard();
  GuardedDevice* device = guarded(guard, ordinal);
  const std::uint64_t youngest = guard != nullptr ? guard->sequence() : 0;
  streams_end();
  const CUresult result = call();
  if (result == CUDA_SUCCESS && device != nullptr && !primary_is_alive(ordinal)) {
    guard->primary_context_gone(*device, youngest);
  }
  return result;
}

}  // namespace

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return create(context, device, Origin::Created,
                [&] { return forward(&DriverFunctions::cuCtxCreate, context, flags, device); });
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return create(context, device, Origin::Created,
                [&] { return forward(&DriverFunctions::cuCtxCreate_v2, context, flags, device); });
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int affinity_count, unsigned int flags,
                        CUdevice device) {
  return create(context, device, Origin::Created, [&] {
    return forward(&DriverFunctions::cuCtxCreate_v3, context, affinity, affinity_count, flags, device);
  });
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned int flags, CUdevice device) {
  return create(context, device, Origin::Created,
                [&] { return forward(&DriverFunctions::cuCtxCreate_v4, context, params, flags, device); });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return create(context, device, Origin::Primary,
                [&] { return forward(&DriverFunctions::cuDevicePrimaryCtxRetain, context, device); });
}

CUresult cuCtxDestroy(CUcontext context) {
  return destroy(context, [&] { return forward(&DriverFunctions::cuCtxDestroy, context); });
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  return destroy(context, [&] { return forward(&DriverFunctions::cuCtxDestroy_v2, context); });
}

CUresult cuCtxAttach(CUcontext* context, unsigned int flags) {
  const CUresult result = forward(&DriverFunctions::cuCtxAttach, context, flags);
  Guard* guard = vramguard::guard();
  if (result == CUDA_SUCCESS && context != nullptr && guard != nullptr) {
    guard->contexts().add_reference(reinterpret_cast<ContextHandle>(*context));
  }
  return result;
}

CUresult cuCtxDetach(CUcontext context) {
  Guard* guard = vramguard::guard();
  if (guard != nullptr && guard->contexts().drop_extra_reference(reinterpret_cast<ContextHandle>(context))) {
    return forward(&DriverFunctions::cuCtxDetach, context);
  }
  return destroy(context, [&] { return forward(&DriverFunctions::cuCtxDetach, context); });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return end_primary(device, [&] { return forward(&DriverFunctions::cuDevicePrimaryCtxRelease, device); });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return end_primary(device, [&] { return forward(&DriverFunctions::cuDevicePrimaryCtxRelease_v2, device); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return end_primary(device, [&] { return forward(&DriverFunctions::cuDevicePrimaryCtxReset, device); });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return end_primary(device, [&] { return forward(&DriverFunctions::cuDevicePrimaryCtxReset_v2, device); });
}

// Stacks for every thread that the device can run: 264 KiB for each byte (H200, driver 580), and no allocation call.
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const CUresult result = forward(&DriverFunctions::cuCtxSetLimit, limit, value);
  const CurrentDevice where = result == CUDA_SUCCESS ? current_device() : CurrentDevice{};
  if (where) where.guard->unseen_changed(*where.device);
  return result;
}

}  // namespace vramguard::entry
