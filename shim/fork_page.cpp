#include "shim/fork_page.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace vramguard {

namespace {

void wipe_by_hand() { fork_page().guard.store(nullptr, std::memory_order_relaxed); }

}  // namespace

bool attach_fork_page() noexcept {
  if (attached_fork_page.load(std::memory_order_acquire) != nullptr) return true;
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Before Linux 4.14 only fork() itself is noticed, not _Fork() and clone().
  const bool wiped_by_kernel = madvise(memory, size, MADV_WIPEONFORK) == 0;
  ForkPage* expected = nullptr;
  if (!attached_fork_page.compare_exchange_strong(expected, new (memory) ForkPage{}, std::memory_order_acq_rel)) {
    munmap(memory, size);
    return true;
  }
  return wiped_by_kernel || pthread_atfork(nullptr, nullptr, wipe_by_hand) == 0;
}

}  // namespace vramguard
