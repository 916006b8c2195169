// Managed memory. What fits is counted in full, as nobody tells how much of it is on the device. What does not fit is
// refused, or kept in host memory.
#include <new>
#include <vector>

#include "shim/linear_call.h"

namespace vramguard::entry {

namespace {

ContextId context_of(const CurrentDevice& where) { return where.guard->context_in_use(*where.device, where.context); }

// `call` as for guarded_linear. What does not fit has the host as its preferred place; where that cannot be (a device
// without that feature), it would land on the device, and takes the way of every request that does not fit.
template <typename Call>
CUresult allocate_or_keep(const CurrentDevice& where, const Request& request, Call&& call) {
  GuardedDevice& device = *where.device;
  const ContextId context = context_of(where);
  AddressRange taken{};
  bool fits = false, host_takes_it = true;
  const auto reserve = [&](Ledger& memory) -> std::optional<Reservation> {
    fits = true;
    where.guard->read_bounded(device);
    if (std::optional<Reservation> reservation = memory.reserve_linear(request.bytes)) return reservation;
    if (where.guard->trim(device)) {
      if (std::optional<Reservation> reservation = memory.reserve_linear(request.bytes)) return reservation;
    }
    fits = false;
    return host_takes_it ? memory.reserve_linear(0) : std::nullopt;
  };
  const auto settle = [&](Reservation& reservation) {
    if (fits && device.memory.settle(reservation, taken)) {
      where.guard->remember(device, AllocationKind::Managed, context, taken);
      return true;
    }
    host_takes_it = prefer_host(taken) == CUDA_SUCCESS;
    if (host_takes_it) {
      where.guard->kept_on_host(device, context, taken, request.api);
    } else {
      undo_linear(taken.address);
    }
    return host_takes_it;
  };
  return guarded_call(
      *where.guard, device, request, reserve, [&] { return call(taken); }, settle);
}

template <typename Call>
CUresult allocate_uncounted(const CurrentDevice& where, Call&& call) {
  AddressRange taken{};
  const CUresult result = call(taken);
  if (result == CUDA_SUCCESS) {
    where.guard->remember(*where.device, AllocationKind::Uncharged, context_of(where), taken);
  }
  return result;
}

template <typename Call>
CUresult allocate(const Request& request, Call&& call) {
  AddressRange ignored{};
  const CurrentDevice where = current_device();
  if (!where) return call(ignored);
  switch (where.guard->config().managed) {
    case Managed::Host:
      return allocate_or_keep(where, request, call);
    case Managed::Count:
      return guarded_linear(request, AllocationKind::Managed, call);
    case Managed::Ignore:
      return allocate_uncounted(where, call);
  }
  return call(ignored);
}

bool kept_on_host(CUdeviceptr dptr, size_t bytes) {
  const Guard* guard = vramguard::guard();
  return guard != nullptr && guard->host_ranges().overlaps(dptr, bytes);
}

// Read-mostly memory is copied to whatever reads it.
bool moves_back(CUmem_advise advice) {
  return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION ||
         advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
}

// The same batch without the ranges that stay on the host; every range has its own place in it.
struct Batch {
  std::vector<CUdeviceptr> dptrs;
  std::vector<size_t> bytes, to_from;
  std::vector<CUmemLocation> to;
};

Batch without_kept(const CUdeviceptr* dptrs, const size_t* bytes, size_t count, const CUmemLocation* to,
                   const size_t* to_from, size_t to_count) {
  Batch rest;
  for (size_t i = 0, place = 0; i < count; ++i) {
    while (place + 1 < to_count && to_from[place + 1] <= i) ++place;
    if (to[place].type == CU_MEM_LOCATION_TYPE_DEVICE && kept_on_host(dptrs[i], bytes[i])) continue;
    rest.to_from.push_back(rest.dptrs.size());
    rest.dptrs.push_back(dptrs[i]);
    rest.bytes.push_back(bytes[i]);
    rest.to.push_back(to[place]);
  }
  return rest;
}

using BatchFunction = CUresult (*DriverFunctions::*)(CUdeviceptr*, size_t*, size_t, CUmemLocation*, size_t*, size_t,
                                                     unsigned long long, CUstream);

CUresult prefetch_batch(BatchFunction function, CUdeviceptr* dptrs, size_t* bytes, size_t count, CUmemLocation* to,
                        size_t* to_from, size_t to_count, unsigned long long flags, CUstream stream) try {
  bool any_kept = false;
  const bool readable = dptrs != nullptr && bytes != nullptr && to != nullptr && to_from != nullptr && to_count > 0;
  for (size_t i = 0; readable && i < count; ++i) any_kept = any_kept || kept_on_host(dptrs[i], bytes[i]);
  if (!any_kept) return forward(function, dptrs, bytes, count, to, to_from, to_count, flags, stream);
  Batch rest = without_kept(dptrs, bytes, count, to, to_from, to_count);
  if (rest.dptrs.empty()) return CUDA_SUCCESS;
  return forward(function, rest.dptrs.data(), rest.bytes.data(), rest.dptrs.size(), rest.to.data(), rest.to_from.data(),
                 rest.to.size(), flags, stream);
} catch (const std::bad_alloc&) {
  return CUDA_SUCCESS;  // a prefetch is only a hint
}

}  // namespace

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytes, unsigned int flags) {
  if (dptr == nullptr || bytes == 0) return forward(&DriverFunctions::cuMemAllocManaged, dptr, bytes, flags);
  CUdeviceptr address = 0;
  const CUresult result = allocate({"cuMemAllocManaged", bytes}, [&](AddressRange& taken) {
    const CUresult answer = forward(&DriverFunctions::cuMemAllocManaged, &address, bytes, flags);
    taken = {address, bytes};
    return answer;
  });
  if (result == CUDA_SUCCESS) *dptr = address;
  return result;
}

CUresult cuMemPrefetchAsync(CUdeviceptr dptr, size_t bytes, CUdevice to, CUstream stream) {
  if (to != CU_DEVICE_CPU && kept_on_host(dptr, bytes)) return CUDA_SUCCESS;
  return forward(&DriverFunctions::cuMemPrefetchAsync, dptr, bytes, to, stream);
}

CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr dptr, size_t bytes, CUdevice to, CUstream stream) {
  if (to != CU_DEVICE_CPU && kept_on_host(dptr, bytes)) return CUDA_SUCCESS;
  return forward(&DriverFunctions::cuMemPrefetchAsync_ptsz, dptr, bytes, to, stream);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr dptr, size_t bytes, CUmemLocation to, unsigned int flags, CUstream stream) {
  if (to.type == CU_MEM_LOCATION_TYPE_DEVICE && kept_on_host(dptr, bytes)) return CUDA_SUCCESS;
  return forward(&DriverFunctions::cuMemPrefetchAsync_v2, dptr, bytes, to, flags, stream);
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr dptr, size_t bytes, CUmemLocation to, unsigned int flags,
                                    CUstream stream) {
  if (to.type == CU_MEM_LOCATION_TYPE_DEVICE && kept_on_host(dptr, bytes)) return CUDA_SUCCESS;
  return forward(&DriverFunctions::cuMemPrefetchAsync_v2_ptsz, dptr, bytes, to, flags, stream);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* bytes, size_t count, CUmemLocation* to, size_t* to_from,
                                 size_t to_count, unsigned long long flags, CUstream stream) {
  return prefetch_batch(&DriverFunctions::cuMemPrefetchBatchAsync, dptrs, bytes, count, to, to_from, to_count, flags,
                        stream);
}

CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr* dptrs, size_t* bytes, size_t count, CUmemLocation* to,
                                      size_t* to_from, size_t to_count, unsigned long long flags, CUstream stream) {
  return prefetch_batch(&DriverFunctions::cuMemPrefetchBatchAsync_ptsz, dptrs, bytes, count, to, to_from, to_count,
                        flags, stream);
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* bytes, size_t count, CUmemLocation* to,
                                           size_t* to_from, size_t to_count, unsigned long long flags,
                                           CUstream stream) {
  return prefetch_batch(&DriverFunctions::cuMemDiscardAndPrefetchBatchAsync, dptrs, bytes, count, to, to_from, to_count,
                        flags, stream);
}

CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr* dptrs, size_t* bytes, size_t count, CUmemLocation* to,
                                                size_t* to_from, size_t to_count, unsigned long long flags,
                                                CUstream stream) {
  return prefetch_batch(&DriverFunctions::cuMemDiscardAndPrefetchBatchAsync_ptsz, dptrs, bytes, count, to, to_from,
                        to_count, flags, stream);
}

CUresult cuMemAdvise(CUdeviceptr dptr, size_t bytes, CUmem_advise advice, CUdevice device) {
  if (moves_back(advice) && kept_on_host(dptr, bytes)) return CUDA_SUCCESS;
  return forward(&DriverFunctions::cuMemAdvise, dptr, bytes, advice, device);
}

CUresult cuMemAdvise_v2(CUdeviceptr dptr, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  if (moves_back(advice) && kept_on_host(dptr, bytes)) return CUDA_SUCCESS;
  return forward(&DriverFunctions::cuMemAdvise_v2, dptr, bytes, advice, location);
}

}  // namespace vramguard::entry
