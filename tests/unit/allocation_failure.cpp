#include "tests/unit/allocation_failure.h"

#include <cstdlib>
#include <new>

namespace {
thread_local int failing = 0;
}

namespace vramguard {

AllocationFailure::AllocationFailure() noexcept { ++failing; }
AllocationFailure::~AllocationFailure() { --failing; }

}  // namespace vramguard

void* operator new(std::size_t bytes) {
  void* memory = failing > 0 ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
