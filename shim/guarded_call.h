// The three steps of every call that takes device memory: reserve, call the driver, settle to what it really took; and
// the way of those that do not fit.
#pragma once

#include "shim/current_device.h"

#include <optional>
#include <type_traits>

#include "shim/relaxed_capture.h"

namespace vramguard {

struct Request {
  const char* api;
  Bytes bytes;      // asked for
  Bytes worst = 0;  // what has to fit for it to be admitted; 0: its pages
};

inline OomRequest on_this_thread(const Request& request, bool can_spill) noexcept {
  return {.api = request.api,
          .bytes = request.bytes,
          .worst = request.worst > 0 ? request.worst : round_up(request.bytes, kPageBytes),
          .can_spill = can_spill,
          .capturing = thread_state().captures > 0};
}

// What would be refused if the budget were more than a number to compare with.
inline void observe(Guard& guard, GuardedDevice& device, const Request& request) noexcept {
  const OomRequest told = on_this_thread(request, false);
  if (device.memory.would_exceed_budget(told.worst)) guard.would_be_refused(device, told);
}

// Serves no request in host memory.
struct NoSpill {
  abi::CUresult operator()() const { return abi::CUDA_ERROR_OUT_OF_MEMORY; }
};

// `reserve` makes one attempt to admit the request, std::optional<Reservation> reserve(Ledger&), `call` makes the
// driver's call, CUresult call(), and `settle` the last step, with what the call took: bool settle(Reservation&), false
// after it has undone the call because that did not fit. Each may be tried more than once. Whatever `call` writes must
// be the caller's only when this returns success. `spill` serves the request in host memory: CUresult spill().
template <typename Reserve, typename Call, typename Settle, typename Spill = NoSpill>
abi::CUresult guarded_call(Guard& guard, GuardedDevice& device, const Request& request, Reserve&& reserve, Call&& call,
                           Settle&& settle, Spill&& spill = {}) {
  if (guard.observes()) observe(guard, device, request);
  constexpr bool kCanSpill = !std::is_same_v<std::decay_t<Spill>, NoSpill>;
  std::optional<OomAttempt> attempt;
  for (;;) {
    RefusalScope scope = RefusalScope::Budget;
    bool undone = false;
    if (std::optional<Reservation> reservation = reserve(device.memory)) {
      const abi::CUresult result = call();
      if (result == abi::CUDA_SUCCESS && settle(*reservation)) {
        if (attempt) {
          attempt->served();
        } else {
          device.oom.fitted(request.bytes);
        }
        return abi::CUDA_SUCCESS;
      }
      if (result != abi::CUDA_SUCCESS && result != abi::CUDA_ERROR_OUT_OF_MEMORY) return result;
      undone = result == abi::CUDA_SUCCESS;
      if (!undone) scope = RefusalScope::Device;
    }
    if (!attempt) attempt.emplace(device.oom, on_this_thread(request, kCanSpill));
    const OomAttempt::Next next = attempt->failed(scope, undone);
    if (next == OomAttempt::Next::GiveUp) return abi::CUDA_ERROR_OUT_OF_MEMORY;
    if (next == OomAttempt::Next::TryAgain) continue;
    const abi::CUresult result = spill();
    if (result == abi::CUDA_SUCCESS) {
      attempt->spilled();
    } else {
      attempt->could_not_spill();
    }
    return result == abi::CUDA_SUCCESS ? result : abi::CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// Of a request whose cost is known beforehand.
template <typename Call, typename Noted>
abi::CUresult guarded_exact(Guard& guard, GuardedDevice& device, const Request& request, Holder holder, Call&& call,
                            Noted&& noted) {
  return guarded_call(
      guard, device, request, [&](Ledger& memory) { return memory.reserve(request.bytes); }, call,
      [&](Reservation& reservation) {
        device.memory.settle(reservation, holder, request.bytes);
        noted();
        return true;
      });
}

}  // namespace vramguard
