// State that a forked child must not inherit.
#pragma once

#include <atomic>

namespace vramguard {

class Guard;

// Everything here reads as zero in a child, however it was forked.
struct ForkPage {
  std::atomic<Guard*> guard;
};

// Called by vramguard_core_attach, from any number of threads.
bool attach_fork_page() noexcept;
ForkPage& fork_page() noexcept;

}  // namespace vramguard
