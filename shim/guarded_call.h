// The three steps of every call that takes linear memory: reserve, call the driver, settle to what it really took.
#pragma once

#include "shim/current_device.h"

#include <chrono>
#include <optional>
#include <utility>

namespace vramguard {

// How long a refused request waits for calls that are inside the driver at that moment and may leave room for it.
constexpr int kPatienceMs = 200;
// And how often: what they left may have gone to another thread.
constexpr unsigned kMostAttempts = 16;

struct LinearRequest {
  const char* api;
  AllocationKind kind;
  Bytes worst_bytes;  // asked for; what the driver really maps is told by the call
};

// A request on its way in: what has been tried for it so far.
class Admission {
 public:
  Admission(const CurrentDevice& where, Bytes worst) noexcept {
    MemoryGuard& memory = where.device->memory;
    for (bool worth_a_try = true; worth_a_try && attempts_ < kMostAttempts;) {
      ++attempts_;
      if (std::optional<Reservation> reservation = memory.reserve_linear(worst)) {
        reservation_.emplace(std::move(*reservation));
        return;
      }
      const auto before = std::chrono::steady_clock::now();
      worth_a_try = memory.wait_for_calls(worst, kPatienceMs) || where.guard->measure_missed(*where.device);
      waited_ += std::chrono::steady_clock::now() - before;
    }
  }

  std::optional<Reservation>& reservation() noexcept { return reservation_; }

  abi::CUresult refuse(const CurrentDevice& where, const LinearRequest& request, Refusal::Scope scope) const noexcept {
    std::size_t card_free = 0;
    const bool known = forward(&DriverFunctions::cuMemGetInfo_v2, &card_free, nullptr) == abi::CUDA_SUCCESS;
    where.guard->refused(*where.device, {.api = request.api,
                                         .scope = scope,
                                         .requested = request.worst_bytes,
                                         .card_free = known ? std::optional<Bytes>(card_free) : std::nullopt,
                                         .attempts = attempts_,
                                         .waited = std::chrono::duration_cast<std::chrono::milliseconds>(waited_)});
    return abi::CUDA_ERROR_OUT_OF_MEMORY;
  }

 private:
  std::optional<Reservation> reservation_;
  unsigned attempts_ = 0;
  std::chrono::steady_clock::duration waited_{0};
};

// Undoes an allocation that turned out not to fit. Relaxed: a free would ruin a capture that is under way.
inline void undo(abi::CUdeviceptr address) noexcept {
  auto mode = abi::CU_STREAM_CAPTURE_MODE_RELAXED;
  const bool relaxed = ask(&DriverQueries::cuThreadExchangeStreamCaptureMode, &mode) == abi::CUDA_SUCCESS;
  forward(&DriverFunctions::cuMemFree_v2, address);
  if (relaxed) ask(&DriverQueries::cuThreadExchangeStreamCaptureMode, &mode);
}

// `call` makes the driver's call: CUresult call(AddressRange& taken), with the range set on success. Whatever it writes
// must be the caller's only when this returns success.
template <typename Call>
abi::CUresult guarded_linear(const LinearRequest& request, Call&& call) {
  AddressRange taken{};
  const CurrentDevice where = current_device();
  if (!where) return call(taken);

  MemoryGuard& memory = where.device->memory;
  Admission admission(where, request.worst_bytes);
  if (!admission.reservation()) return admission.refuse(where, request, Refusal::Scope::Budget);

  const abi::CUresult result = call(taken);
  if (result == abi::CUDA_ERROR_OUT_OF_MEMORY) return admission.refuse(where, request, Refusal::Scope::Device);
  if (result != abi::CUDA_SUCCESS) return result;
  if (!memory.settle(*admission.reservation(), taken)) {
    undo(taken.address);
    return admission.refuse(where, request, Refusal::Scope::Budget);
  }
  const ContextId context = where.guard->context_in_use(*where.device, where.context);
  where.guard->remember(*where.device, request.kind, context, taken);
  return abi::CUDA_SUCCESS;
}

}  // namespace vramguard
