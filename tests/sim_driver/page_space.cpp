#include "tests/sim_driver/page_space.h"

#include <iterator>

namespace vgsim {

PageSpace::PageSpace(std::uint64_t first_page, std::uint64_t pages) { free_runs_.emplace(first_page, pages); }

std::optional<std::uint64_t> PageSpace::take(std::uint64_t pages) {
  auto best = free_runs_.end();
  for (auto run = free_runs_.begin(); run != free_runs_.end(); ++run) {
    if (run->second >= pages && (best == free_runs_.end() || run->second < best->second)) best = run;
  }
  if (best == free_runs_.end()) return std::nullopt;
  const std::uint64_t first = best->first;
  const std::uint64_t left = best->second - pages;
  free_runs_.erase(best);
  if (left != 0) free_runs_.emplace(first + pages, left);
  return first;
}

void PageSpace::give(std::uint64_t first_page, std::uint64_t pages) {
  auto next = free_runs_.lower_bound(first_page);
  if (next != free_runs_.end() && first_page + pages == next->first) {
    pages += next->second;
    next = free_runs_.erase(next);
  }
  if (next != free_runs_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first_page) {
      before->second += pages;
      return;
    }
  }
  free_runs_.emplace(first_page, pages);
}

}  // namespace vgsim
