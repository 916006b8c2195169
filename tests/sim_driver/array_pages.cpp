#include "tests/sim_driver/array_pages.h"

#include "tests/sim_driver/array_shape.h"
#include "tests/sim_driver/sizes.h"

namespace vgsim {
namespace {

constexpr std::uint32_t kAllFree = 0xffff'ffff;
static_assert(kPageBytes / kArrayStep == 32);

// The bits at which `length` free steps begin.
std::uint32_t runs_of(std::uint32_t free, unsigned int length) {
  for (unsigned int i = 1; i < length; ++i) free &= free >> 1;
  return free;
}

unsigned int longest_run(std::uint32_t free) {
  unsigned int length = 0;
  for (; free != 0; free &= free >> 1) ++length;
  return length;
}

std::uint32_t bits_of(const ArrayPages::Place& place) {
  return (place.steps == 32 ? kAllFree : (1U << place.steps) - 1) << place.first;
}

}  // namespace

std::optional<ArrayPages::Place> ArrayPages::take(std::uint64_t bytes, const std::function<bool()>& admit) {
  const auto steps = static_cast<unsigned int>((bytes + kArrayStep - 1) / kArrayStep);
  auto fitting = by_run_.lower_bound({steps, 0});
  if (fitting == by_run_.end()) {
    if (!admit()) return std::nullopt;
    set_free(next_page_++, kAllFree);
    fitting = by_run_.lower_bound({steps, 0});
  }
  const std::uint64_t page = fitting->second;
  const std::uint32_t free = free_[page];
  const Place place{page, static_cast<unsigned int>(__builtin_ctz(runs_of(free, steps))), steps};
  set_free(page, free & ~bits_of(place));
  return place;
}

bool ArrayPages::give(const Place& place) {
  set_free(place.page, free_[place.page] | bits_of(place));
  if (free_[place.page] != kAllFree) return false;
  by_run_.erase({32, place.page});
  free_.erase(place.page);
  return true;
}

void ArrayPages::set_free(std::uint64_t page, std::uint32_t free) {
  if (const auto known = free_.find(page); known != free_.end()) by_run_.erase({longest_run(known->second), page});
  free_[page] = free;
  by_run_.insert({longest_run(free), page});
}

}  // namespace vgsim
