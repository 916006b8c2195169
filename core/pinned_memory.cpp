#include "core/pinned_memory.h"

namespace vramguard {

bool PinnedMemory::add(std::uint64_t address, Bytes bytes) noexcept try {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = pinned_.try_emplace(address, bytes);
  if (!is_new) {  // its end was not seen
    budget_.give_back(place->second);
    place.value() = bytes;
  }
  return true;
} catch (...) {
  return false;
}

std::optional<Bytes> PinnedMemory::take(std::uint64_t address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto place = pinned_.find(address);
  if (place == pinned_.end()) return std::nullopt;
  const Bytes bytes = place->second;
  pinned_.erase(place);
  return bytes;
}

}  // namespace vramguard
