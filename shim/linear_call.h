// A guarded call whose memory has an address: charged by the pages that it really touches.
#pragma once

#include "shim/guarded_call.h"

namespace vramguard {

// Undoes an allocation that turned out not to fit.
inline void undo_linear(abi::CUdeviceptr address) noexcept {
  const RelaxedCapture relaxed;
  forward(&DriverFunctions::cuMemFree_v2, address);
}

// `call` makes the driver's call: CUresult call(AddressRange& taken), with the range set on success.
template <typename Call>
abi::CUresult guarded_linear(const Request& request, AllocationKind kind, Call&& call) {
  AddressRange taken{};
  const CurrentDevice where = current_device();
  if (!where) return call(taken);
  // First: a context that nobody announced is measured before its first request is admitted.
  const ContextId context = where.guard->context_in_use(*where.device, where.context);
  return guarded_call(
      *where.guard, *where.device, request, [&](MemoryGuard& memory) { return memory.reserve_linear(request.bytes); },
      [&] { return call(taken); },
      [&](Reservation& reservation) {
        if (!where.device->memory.settle(reservation, taken)) {
          undo_linear(taken.address);
          return false;
        }
        where.guard->remember(*where.device, kind, context, taken);
        return true;
      });
}

}  // namespace vramguard
