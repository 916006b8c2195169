// The name that somebody probably meant.
#pragma once

#include <string_view>
#include <vector>

namespace vramguard {

// Letters to change, add, drop or swap with their neighbour to get from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, or "" when none is near enough (a third of its letters) to be worth a guess.
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace vramguard
