// Who holds device memory, besides the pages of linear allocations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramguard {

// Known to the byte from the calls themselves.
enum class Holder : std::uint8_t { Physical, Array };
inline constexpr std::size_t kHolders = 2;

// Known exactly only when the driver is asked; bounded in between.
enum class BoundedHolder : std::uint8_t { Pools, Graphs };
inline constexpr std::size_t kBoundedHolders = 2;

}  // namespace vramguard
