// Why a request was turned down.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/bytes.h"

namespace vramguard {

enum class RefusalScope : std::uint8_t {
  Budget,
  LeaveFree,  // the card would be left with less than it is to keep
  Device,     // the card itself is full
};

inline constexpr std::size_t kRefusalScopes = 3;

const char* to_string(RefusalScope scope) noexcept;

// A request that has reached a guarded call. Plain data.
struct OomRequest {
  const char* api = "";
  Bytes bytes = 0;  // asked for, for people and for the rule that small requests run no hook
  Bytes worst = 0;  // what has to fit for it to be admitted
  bool can_spill = false;
  bool capturing = false;  // the calling thread captures a stream: it may not be kept waiting
  bool runs_hooks = true;
};

}  // namespace vramguard
