// Addresses that a program reserves to map memory at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "tests/sim_driver/page_space.h"

namespace vgsim {

// Each range begins on a page of its own. Not thread-safe.
class AddressRanges {
 public:
  AddressRanges(std::uint64_t first_page, std::uint64_t pages) : space_(first_page, pages) {}

  // The start of a free range of `bytes` at a multiple of `alignment`, a power of two.
  std::optional<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment);
  // False unless exactly this was reserved.
  bool release(std::uint64_t address, std::uint64_t bytes);
  // Whether all of it lies in one range.
  bool contains(std::uint64_t address, std::uint64_t bytes) const;

 private:
  PageSpace space_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // address -> bytes
};

}  // namespace vgsim
