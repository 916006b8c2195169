// The address space of one device, given out in runs of 2 MiB pages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace vgsim {

// Best fit over the free runs. Not thread-safe.
class PageSpace {
 public:
  PageSpace(std::uint64_t first_page, std::uint64_t pages);

  // The first page of a run of `pages`; empty when no run is that long.
  std::optional<std::uint64_t> take(std::uint64_t pages);
  void give(std::uint64_t first_page, std::uint64_t pages);

 private:
  std::map<std::uint64_t, std::uint64_t> free_runs_;  // first page -> pages
};

}  // namespace vgsim
