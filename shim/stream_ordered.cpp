// Stream-ordered memory: allocations from pools, and the pools themselves. No record is kept for a pointer: what counts
// is what a pool holds, and only the driver knows that.
#include "shim/cuda_devices.h"
#include "shim/guarded_call.h"
#include "shim/streams.h"

namespace vramguard::entry {

namespace {

// A pool grows by multiples of this, and one call never grew one by more than its size rounded up to it (1,188 of 1,188
// calls; H200, driver 580).
constexpr Bytes kPoolStep = 32_MiB;
// What may be tried and undone where only the pool's own gaps could hold a request. Larger ones would for a moment take
// the device far over its budget.
constexpr Bytes kLargestTrial = kPoolStep;

PoolHandle number_of(CUmemoryPool pool) { return reinterpret_cast<PoolHandle>(pool); }

void note_default_pool(Guard& guard, GuardedDevice& device) noexcept {
  CUmemoryPool pool = nullptr;
  if (ask(&DriverQueries::cuDeviceGetDefaultMemPool, &pool, device.info.ordinal) != CUDA_SUCCESS) return;
  if (guard.pools().add(number_of(pool), device.info.ordinal)) return;
  guard.guard_failed("pool", "no memory to note a memory pool; what it holds is not counted");
}

// Null for imported pools and those of the host, which take nothing of a device here.
GuardedDevice* device_of_pool(Guard& guard, CUmemoryPool pool) noexcept {
  std::optional<int> ordinal = guard.pools().device_of(number_of(pool));
  if (!ordinal) {  // a default pool, perhaps
    for (int i = 0; i < guard.device_count(); ++i) note_default_pool(guard, *guard.device(i));
    ordinal = guard.pools().device_of(number_of(pool));
  }
  return ordinal ? guard.device(*ordinal) : nullptr;
}

// Undoes an allocation that turned out not to fit.
void undo(Guard& guard, GuardedDevice& device, CUdeviceptr address) noexcept {
  const RelaxedCapture relaxed;
  forward(&DriverFunctions::cuMemFree_v2, address);
  guard.trim(device);
}

// Where the worst case does not fit, the pool may serve the request from what it holds already: only a try tells.
std::optional<Reservation> reserve(Ledger& memory, const Request& request, Bytes worst) noexcept {
  if (std::optional<Reservation> reservation = memory.reserve(worst)) return reservation;
  const bool may_be_served = request.bytes <= kLargestTrial && memory.held(BoundedHolder::Pools) > 0;
  return may_be_served ? memory.reserve_trial(0) : std::nullopt;
}

// `call` makes the driver's call: CUresult call(CUdeviceptr*).
template <typename Call>
CUresult guarded_pool(Guard& guard, GuardedDevice& device, const Request& request, CUdeviceptr* dptr, Call&& call) {
  const Bytes worst = round_up(request.bytes, kPoolStep);
  CUdeviceptr address = 0;
  if (!device.pools_used.load(std::memory_order_acquire)) {
    note_default_pool(guard, device);
    device.pools_used.store(true, std::memory_order_release);  // from now on it is part of every reading
  }
  const CUresult result = guarded_call(
      guard, device, {request.api, request.bytes, worst},
      [&](Ledger& memory) { return reserve(memory, request, worst); }, [&] { return call(&address); },
      [&](Reservation& reservation) {
        const bool trial = reservation.bytes() < worst;
        if (trial) guard.read_bounded(device);
        if (trial && device.memory.over_budget()) {
          undo(guard, device, address);
          return false;
        }
        if (device.memory.settle_bound(reservation, BoundedHolder::Pools)) guard.read_bounded(device);
        return true;
      });
  if (result == CUDA_SUCCESS) *dptr = address;
  return result;
}

// On a capturing stream an allocation becomes a node of the graph: it takes nothing until that is launched.
template <typename Call>
CUresult captured(Guard& guard, CUdeviceptr* dptr, Call&& call) {
  const CUresult result = call(dptr);
  if (result == CUDA_SUCCESS) guard.memory_node_added();
  return result;
}

template <typename Call>
CUresult allocate_async(const char* api, const StreamForm& form, CUdeviceptr* dptr, size_t bytes, CUstream stream,
                        Call&& call) {
  Guard* guard = vramguard::guard();
  if (guard == nullptr || dptr == nullptr) return call(dptr);
  if (guard->captures_seen() && is_capturing(form, stream)) return captured(*guard, dptr, call);
  GuardedDevice* device = device_of_stream(*guard, form, stream);
  if (device == nullptr) return call(dptr);
  return guarded_pool(*guard, *device, {api, bytes}, dptr, call);
}

// The pool names the device, wherever the stream runs.
template <typename Call>
CUresult allocate_from(const char* api, const StreamForm& form, CUdeviceptr* dptr, size_t bytes, CUmemoryPool pool,
                       CUstream stream, Call&& call) {
  Guard* guard = vramguard::guard();
  if (guard == nullptr || dptr == nullptr) return call(dptr);
  if (guard->captures_seen() && is_capturing(form, stream)) return captured(*guard, dptr, call);
  GuardedDevice* device = device_of_pool(*guard, pool);
  if (device == nullptr) return call(dptr);
  return guarded_pool(*guard, *device, {api, bytes}, dptr, call);
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytes, CUstream stream) {
  return allocate_async("cuMemAllocAsync", kLegacyStreams, dptr, bytes, stream, [=](CUdeviceptr* out) {
    return forward(&DriverFunctions::cuMemAllocAsync, out, bytes, stream);
  });
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr* dptr, size_t bytes, CUstream stream) {
  return allocate_async("cuMemAllocAsync_ptsz", kPerThreadStreams, dptr, bytes, stream, [=](CUdeviceptr* out) {
    return forward(&DriverFunctions::cuMemAllocAsync_ptsz, out, bytes, stream);
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_from("cuMemAllocFromPoolAsync", kLegacyStreams, dptr, bytes, pool, stream, [=](CUdeviceptr* out) {
    return forward(&DriverFunctions::cuMemAllocFromPoolAsync, out, bytes, pool, stream);
  });
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* dptr, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_from("cuMemAllocFromPoolAsync_ptsz", kPerThreadStreams, dptr, bytes, pool, stream,
                       [=](CUdeviceptr* out) {
                         return forward(&DriverFunctions::cuMemAllocFromPoolAsync_ptsz, out, bytes, pool, stream);
                       });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  const CUresult result = forward(&DriverFunctions::cuMemPoolCreate, pool, props);
  Guard* guard = vramguard::guard();
  if (result != CUDA_SUCCESS || guard == nullptr) return result;
  if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return result;
  if (!guard->pools().add(number_of(*pool), props->location.id)) {
    guard->guard_failed("pool", "no memory to note a memory pool; what it holds is not counted");
  }
  return result;
}

// The memory of live allocations stays until they are freed; of what is kept for nobody, nothing stays.
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  Guard* guard = vramguard::guard();
  const std::optional<int> ordinal = guard != nullptr ? guard->pools().device_of(number_of(pool)) : std::nullopt;
  GuardedDevice* device = ordinal ? guard->device(*ordinal) : nullptr;
  if (device == nullptr || !guard->pools().close(number_of(pool))) {
    return forward(&DriverFunctions::cuMemPoolDestroy, pool);
  }
  const bool in_use = pool_bytes_in_use(number_of(pool)).value_or(0) > 0;
  const Bytes left = in_use ? guard->pool_bytes(number_of(pool)) : 0;
  const CUresult result = forward(&DriverFunctions::cuMemPoolDestroy, pool);
  if (result == CUDA_SUCCESS) {
    guard->pool_destroyed(*device, number_of(pool), left);
  } else {
    guard->pools().reopen(number_of(pool));
  }
  return result;
}

}  // namespace vramguard::entry
