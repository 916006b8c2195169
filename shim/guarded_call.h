// The three steps of every call that takes device memory: reserve, call the driver, settle to what it really took; and
// the way of those that do not fit.
#pragma once

#include "shim/current_device.h"

#include <optional>
#include <type_traits>

#include "shim/relaxed_capture.h"
#include "shim/uncancelled.h"

namespace vramguard {

struct Request {
  const char* api;
  Bytes bytes;      // asked for
  Bytes worst = 0;  // what has to fit for it to be admitted; 0: its pages
};

inline OomRequest on_this_thread(const Request& request, bool can_spill) noexcept {
  Guard* guard = vramguard::guard();
  return {.api = request.api,
          .bytes = request.bytes,
          .worst = request.worst > 0 ? request.worst : round_up(request.bytes, kPageBytes),
          .can_spill = can_spill,
          .capturing = guard != nullptr && guard->captures().by_this_thread()};
}

// What would be refused if the budget were more than a number to compare with.
inline void observe(Guard& guard, GuardedDevice& device, const Request& request) noexcept {
  const OomRequest told = on_this_thread(request, false);
  if (device.memory.would_be_short_of(told.worst) > 0) guard.would_be_refused(device, told);
}

// What vramguard_last_refusal() tells. CUDA_ERROR_OUT_OF_MEMORY.
abi::CUresult refused(GuardedDevice& device, const Request& request, const OomAttempt& attempt) noexcept;

// Serves no request in host memory.
struct NoSpill {
  abi::CUresult operator()() const { return abi::CUDA_ERROR_OUT_OF_MEMORY; }
};

// How one try of a request has ended.
struct Tried {
  abi::CUresult result;                       // OUT_OF_MEMORY: did not fit
  RefusalScope scope = RefusalScope::Budget;  // of what was full
  bool undone = false;                        // the driver had served it
};

template <typename Reserve, typename Call, typename Settle>
Tried try_once(GuardedDevice& device, Reserve& reserve, Call& call, Settle& settle) {
  std::optional<Reservation> reservation = reserve(device.memory);
  if (!reservation) return {abi::CUDA_ERROR_OUT_OF_MEMORY};
  const abi::CUresult result = call();
  if (result == abi::CUDA_ERROR_OUT_OF_MEMORY) return {result, RefusalScope::Device};
  if (result != abi::CUDA_SUCCESS || settle(*reservation)) return {result};
  return {abi::CUDA_ERROR_OUT_OF_MEMORY, RefusalScope::Budget, true};
}

// Out of line: the way of requests that fit stays short.
template <typename Reserve, typename Call, typename Settle, typename Spill>
[[gnu::noinline]] abi::CUresult rescue(GuardedDevice& device, const Request& request, Tried tried, Reserve& reserve,
                                       Call& call, Settle& settle, Spill& spill) {
  constexpr bool kCanSpill = !std::is_same_v<std::decay_t<Spill>, NoSpill>;
  const Uncancelled uncancelled;  // waiting and hooks have cancellation points, and their callers cannot be unwound
  OomAttempt attempt(device.oom, on_this_thread(request, kCanSpill));
  while (tried.result == abi::CUDA_ERROR_OUT_OF_MEMORY) {
    switch (attempt.failed(tried.scope, tried.undone)) {
      case OomAttempt::Next::TryAgain:
        tried = try_once(device, reserve, call, settle);
        break;
      case OomAttempt::Next::Spill:
        if (spill() == abi::CUDA_SUCCESS) {
          attempt.spilled();
          return abi::CUDA_SUCCESS;
        }
        attempt.could_not_spill();
        return refused(device, request, attempt);
      case OomAttempt::Next::GiveUp:
        return refused(device, request, attempt);
    }
  }
  if (tried.result == abi::CUDA_SUCCESS) attempt.served();
  return tried.result;
}

// `reserve` makes one attempt to admit the request, std::optional<Reservation> reserve(Ledger&), `call` makes the
// driver's call, CUresult call(), and `settle` the last step, with what the call took: bool settle(Reservation&), false
// after it has undone the call because that did not fit. Each may be tried more than once. Whatever `call` writes must
// be the caller's only when this returns success. `spill` serves the request in host memory: CUresult spill().
template <typename Reserve, typename Call, typename Settle, typename Spill = NoSpill>
abi::CUresult guarded_call(Guard& guard, GuardedDevice& device, const Request& request, Reserve&& reserve, Call&& call,
                           Settle&& settle, Spill&& spill = {}) {
  if (guard.observes()) observe(guard, device, request);
  const Tried tried = try_once(device, reserve, call, settle);
  if (tried.result == abi::CUDA_ERROR_OUT_OF_MEMORY) {
    return rescue(device, request, tried, reserve, call, settle, spill);
  }
  if (tried.result == abi::CUDA_SUCCESS) device.oom.fitted(request.bytes);
  return tried.result;
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
