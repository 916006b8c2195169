// Lets a test see what happens when operator new has no memory to give.
#pragma once

namespace vramguard {

// While one lives, every operator new of its thread throws std::bad_alloc.
class AllocationFailure {
 public:
  AllocationFailure() noexcept;
  ~AllocationFailure();
  AllocationFailure(const AllocationFailure&) = delete;
  AllocationFailure& operator=(const AllocationFailure&) = delete;
};

}  // namespace vramguard
