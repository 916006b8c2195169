// The pages that small arrays of one kind share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace vgsim {

// Pages of 2 MiB in steps of 64 KiB. The place is the first one in the page with the shortest run that is long enough.
// Not thread-safe.
class ArrayPages {
 public:
  struct Place {
    std::uint64_t page;
    unsigned int first, steps;
  };

  // Room for `bytes`, at most a page; empty where `admit` refuses the new page that it would need.
  std::optional<Place> take(std::uint64_t bytes, const std::function<bool()>& admit);

  // True when the page has no other user, and is gone.
  bool give(const Place& place);

  bool is_empty() const { return free_.empty(); }

 private:
  void set_free(std::uint64_t page, std::uint32_t free);

  std::map<std::uint64_t, std::uint32_t> free_;              // page -> a bit for each free step
  std::set<std::pair<unsigned int, std::uint64_t>> by_run_;  // (longest run, page)
  std::uint64_t next_page_ = 0;
};

}  // namespace vgsim
