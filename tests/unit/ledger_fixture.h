// How tests take from the books of one device, and read what only the driver knows.
#pragma once

#include "core/ledger.h"

#include <catch2/catch.hpp>

namespace vramguard {

constexpr Ledger::Wake kNoWake = nullptr;

inline bool take(Ledger& guard, Holder holder, Bytes bytes) {
  auto reservation = guard.reserve(bytes);
  return reservation && guard.settle(*reservation, holder, bytes);
}

inline bool take(Ledger& guard, BoundedHolder holder, Bytes most) {
  auto reservation = guard.reserve(most);
  REQUIRE(reservation);
  return guard.settle_bound(*reservation, holder);
}

inline void read(Ledger& guard, BoundedHolder holder, Bytes bytes) { guard.read(holder, guard.mark(holder), bytes); }

}  // namespace vramguard
