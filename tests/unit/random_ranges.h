// Address ranges as a driver hands them out: of any size, many within one page, no two overlapping.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>

#include "core/page_map.h"

namespace vramguard {

// Belongs to one thread, or to those that hold a lock of their own.
class RandomRanges {
 public:
  RandomRanges(unsigned seed, std::uint64_t base, Bytes span) : random_(seed), base_(base), span_(span) {}

  std::uint64_t random() { return random_(); }

  // A free range at a multiple of 512 bytes, small ones and large ones alike; nullopt where the place is taken.
  std::optional<AddressRange> take() {
    const Bytes bytes = random() % 3 == 0 ? 1 + random() % (5 * kPageBytes) : 1 + random() % (kPageBytes / 3);
    return take(bytes);
  }
  std::optional<AddressRange> take(Bytes bytes) {
    if (bytes > span_) return std::nullopt;
    for (int attempt = 0; attempt < 8; ++attempt) {
      std::uint64_t address = base_ + (random() % (span_ - bytes + 1)) / 512 * 512;
      if (random() % 4 == 0) address = std::max(base_, address / kPageBytes * kPageBytes);
      const auto next = taken_.lower_bound(address);
      if (next != taken_.end() && next->first < address + bytes) continue;
      if (next != taken_.begin() && std::prev(next)->second > address) continue;
      taken_[address] = address + bytes;
      return AddressRange{address, bytes};
    }
    return std::nullopt;
  }
  void give_back(AddressRange range) { taken_.erase(range.address); }

 private:
  std::mt19937_64 random_;
  std::uint64_t base_;
  Bytes span_;
  std::map<std::uint64_t, std::uint64_t> taken_;  // address -> end
};

}  // namespace vramguard
