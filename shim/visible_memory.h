// What a program may see of a card: its budget. Every function that shows memory takes its numbers from here.
#pragma once

#include <algorithm>
#include <optional>

#include "core/guard.h"

namespace vramguard {

// An observed program sees the card.
inline bool shows_budget(const GuardConfig& config, bool by_nvml) noexcept {
  if (config.mode == Mode::Observe) return false;
  return by_nvml ? config.virtualize == Virtualize::All : config.virtualize != Virtualize::None;
}

struct VisibleMemory {
  Bytes total, free;
};

// The card's own numbers are narrowed, never widened: what is not the program's to use is not shown, and what the card
// does not have is not promised. nullopt without a budget: then the card's own numbers are right.
inline std::optional<VisibleMemory> narrowed(Bytes budget, Bytes used, Bytes card_total, Bytes card_free) noexcept {
  if (budget == kUnlimitedBytes) return std::nullopt;
  return VisibleMemory{std::min(card_total, budget), std::min(card_free, budget - std::min(budget, used))};
}

// Brings the books up to date first.
inline std::optional<VisibleMemory> visible_memory(Guard& guard, GuardedDevice& device, Bytes card_total,
                                                   Bytes card_free) noexcept {
  guard.measure_missed(device);
  guard.read_bounded(device);
  // What a sentinel holds is the program's to use.
  const Bytes sentinel = device.memory.sentinel_of_group();
  const Bytes usable = card_free > kUnlimitedBytes - sentinel ? card_free : card_free + sentinel;
  return narrowed(device.memory.budget(), device.memory.used_by_group(), card_total, usable);
}

}  // namespace vramguard
