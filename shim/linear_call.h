// A guarded call whose memory has an address: charged by the pages that it really touches.
#pragma once

#include "shim/guarded_call.h"
#include "shim/host_memory.h"

namespace vramguard {

// `call` makes the driver's call: CUresult call(AddressRange& taken), with the range set on success. `spill` serves the
// request in host memory, in the same way.
template <typename Call, typename Spill = NoSpill>
abi::CUresult guarded_linear(const Request& request, AllocationKind kind, Call&& call, Spill&& spill = {}) {
  AddressRange taken{};
  const CurrentDevice where = current_device();
  if (!where) return call(taken);
  // First: a context that nobody announced is measured before its first request is admitted.
  const ContextId context = where.guard->context_in_use(*where.device, where.context);
  const auto reserve = [&](Ledger& memory) { return memory.reserve_linear(request.bytes); };
  const auto make_call = [&] { return call(taken); };
  const auto settle = [&](Reservation& reservation) {
    if (!where.device->memory.settle(reservation, taken)) {
      undo_linear(taken.address);
      return false;
    }
    where.guard->remember(*where.device, kind, context, taken);
    return true;
  };
  if constexpr (std::is_same_v<std::decay_t<Spill>, NoSpill>) {
    return guarded_call(*where.guard, *where.device, request, reserve, make_call, settle);
  } else {
    return guarded_call(*where.guard, *where.device, request, reserve, make_call, settle, [&] {
      const abi::CUresult result = spill(taken);
      if (result == abi::CUDA_SUCCESS) {
        where.guard->remember_on_host(*where.device, AllocationKind::Spilled, context, taken);
      }
      return result;
    });
  }
}

}  // namespace vramguard
