#include "tests/sim_driver/address_ranges.h"

#include <algorithm>
#include <iterator>

#include "tests/sim_driver/sizes.h"

namespace vgsim {
std::optional<std::uint64_t> AddressRanges::reserve(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t pages = pages_of(bytes);
  const std::uint64_t step = std::max<std::uint64_t>(alignment / kPageBytes, 1);
  const auto taken = space_.take(pages + step - 1);
  if (!taken) return std::nullopt;
  const std::uint64_t first = (*taken + step - 1) / step * step;
  if (first > *taken) space_.give(*taken, first - *taken);
  if (const std::uint64_t rest = *taken + step - 1 - first; rest > 0) space_.give(first + pages, rest);
  ranges_.emplace(first * kPageBytes, bytes);
  return first * kPageBytes;
}

bool AddressRanges::release(std::uint64_t address, std::uint64_t bytes) {
  const auto range = ranges_.find(address);
  if (range == ranges_.end() || range->second != bytes) return false;
  ranges_.erase(range);
  space_.give(address / kPageBytes, pages_of(bytes));
  return true;
}

bool AddressRanges::contains(std::uint64_t address, std::uint64_t bytes) const {
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return false;
  const auto& [start, length] = *std::prev(next);
  return address - start < length && bytes <= length - (address - start);
}

}  // namespace vgsim
