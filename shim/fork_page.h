// State that a forked child must not inherit.
#pragma once

#include <atomic>

namespace vramguard {

class Guard;

// Everything here reads as zero in a child, however it was forked.
struct ForkPage {
  std::atomic<Guard*> guard;
};

// Called by vramguard_core_attach, from any number of threads; fork_page() needs it.
bool attach_fork_page() noexcept;

inline constinit std::atomic<ForkPage*> attached_fork_page{nullptr};
inline ForkPage& fork_page() noexcept { return *attached_fork_page.load(std::memory_order_acquire); }

}  // namespace vramguard
