#include "tests/unit/allocation_failure.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
thread_local int failing = 0;
}

namespace vramguard {

AllocationFailure::AllocationFailure() noexcept { ++failing; }
AllocationFailure::~AllocationFailure() { --failing; }

}  // namespace vramguard

// All forms of one object without alignment: a mixture with those of a sanitizer would be reported by it.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return failing > 0 ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

void* operator new(std::size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
