// The three steps of every call that takes device memory: reserve, call the driver, settle to what it really took.
#pragma once

#include "shim/current_device.h"

#include <chrono>
#include <optional>
#include <utility>

#include "shim/relaxed_capture.h"

namespace vramguard {

// How long a refused request waits for calls that are inside the driver at that moment and may leave room for it.
constexpr int kPatienceMs = 200;
// And how often: what they left may have gone to another thread.
constexpr unsigned kMostAttempts = 16;

struct Request {
  const char* api;
  Bytes bytes;  // asked for; at most so much is taken, by the rule of its kind
};

// A request on its way in: what has been tried for it so far.
class Admission {
 public:
  // `reserve` makes one attempt: std::optional<Reservation> reserve(MemoryGuard&).
  template <typename Reserve>
  Admission(Guard& guard, GuardedDevice& device, const Request& request, Reserve&& reserve) noexcept
      : guard_(guard), device_(device), request_(request) {
    do {
      ++attempts_;
      if (std::optional<Reservation> reservation = reserve(device.memory)) {
        reservation_.emplace(std::move(*reservation));
        return;
      }
    } while (attempts_ < kMostAttempts && find_room());
  }

  std::optional<Reservation>& reservation() noexcept { return reservation_; }

  // The card itself was full. True if what this process kept for nobody was given back: worth another call.
  bool card_was_full() noexcept { return !std::exchange(trimmed_, true) && guard_.trim(device_); }

  abi::CUresult refuse(Refusal::Scope scope) const noexcept {
    std::size_t card_free = 0;
    const bool known = forward(&DriverFunctions::cuMemGetInfo_v2, &card_free, nullptr) == abi::CUDA_SUCCESS;
    guard_.refused(device_, {.api = request_.api,
                             .scope = scope,
                             .requested = request_.bytes,
                             .card_free = known ? std::optional<Bytes>(card_free) : std::nullopt,
                             .attempts = attempts_,
                             .waited = std::chrono::duration_cast<std::chrono::milliseconds>(waited_)});
    return abi::CUDA_ERROR_OUT_OF_MEMORY;
  }

 private:
  // From what costs nothing to what costs the program its caches. False when nothing is left to try.
  bool find_room() noexcept {
    MemoryGuard& memory = device_.memory;
    if (request_.bytes > memory.budget()) return false;
    const auto before = std::chrono::steady_clock::now();
    const bool others_ended = memory.wait_for_calls(request_.bytes, kPatienceMs);
    waited_ += std::chrono::steady_clock::now() - before;
    if (others_ended || guard_.measure_missed(device_) || guard_.read_bounded(device_)) return true;
    return !std::exchange(trimmed_, true) && guard_.trim(device_);
  }

  Guard& guard_;
  GuardedDevice& device_;
  const Request request_;
  std::optional<Reservation> reservation_;
  unsigned attempts_ = 0;
  bool trimmed_ = false;
  std::chrono::steady_clock::duration waited_{0};
};

// `call` makes the driver's call, CUresult call(), and `settle` the last step, with what the call took:
// bool settle(Reservation&), false after it has undone the call because that did not fit. Whatever `call` writes must
// be the caller's only when this returns success.
template <typename Reserve, typename Call, typename Settle>
abi::CUresult guarded_call(Guard& guard, GuardedDevice& device, const Request& request, Reserve&& reserve, Call&& call,
                           Settle&& settle) {
  Admission admission(guard, device, request, reserve);
  if (!admission.reservation()) return admission.refuse(Refusal::Scope::Budget);
  abi::CUresult result = call();
  if (result == abi::CUDA_ERROR_OUT_OF_MEMORY && admission.card_was_full()) result = call();
  if (result == abi::CUDA_ERROR_OUT_OF_MEMORY) return admission.refuse(Refusal::Scope::Device);
  if (result != abi::CUDA_SUCCESS) return result;
  return settle(*admission.reservation()) ? abi::CUDA_SUCCESS : admission.refuse(Refusal::Scope::Budget);
}

// Of a request whose cost is known beforehand.
template <typename Call, typename Noted>
abi::CUresult guarded_exact(Guard& guard, GuardedDevice& device, const Request& request, Holder holder, Call&& call,
                            Noted&& noted) {
  return guarded_call(
      guard, device, request, [&](MemoryGuard& memory) { return memory.reserve(request.bytes); }, call,
      [&](Reservation& reservation) {
        device.memory.settle(reservation, holder, request.bytes);
        noted();
        return true;
      });
}

}  // namespace vramguard
