#include "core/state/liveness.h"

#include <linux/futex.h>

#include <atomic>
#include <cerrno>

namespace vramguard {

bool prepare_mark(pthread_mutex_t& mark) noexcept {
  pthread_mutexattr_t attributes;
  if (pthread_mutexattr_init(&attributes) != 0) return false;
  const bool made = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                    pthread_mutex_init(&mark, &attributes) == 0;
  pthread_mutexattr_destroy(&attributes);
  return made;
}

Mark take_mark(pthread_mutex_t& mark) noexcept {
  switch (pthread_mutex_trylock(&mark)) {
    case 0:
      return Mark::Taken;
    case EOWNERDEAD:
      pthread_mutex_consistent(&mark);
      return Mark::TakenFromDead;
    default:
      return Mark::Held;
  }
}

void leave_mark(pthread_mutex_t& mark) noexcept { pthread_mutex_unlock(&mark); }

namespace {

// The word of a robust mutex is the kernel's own (robust futexes): the holder's thread number and two flags. A locked
// mutex whose holder the kernel has marked dead keeps the flag until somebody takes it.
unsigned word_of(const pthread_mutex_t& mark) noexcept {
  static_assert(sizeof mark.__data.__lock == sizeof(unsigned));
  return static_cast<unsigned>(__atomic_load_n(&mark.__data.__lock, __ATOMIC_ACQUIRE));
}

}  // namespace

bool is_held(const pthread_mutex_t& mark) noexcept {
  const unsigned word = word_of(mark);
  return (word & FUTEX_TID_MASK) != 0 && (word & FUTEX_OWNER_DIED) == 0;
}

bool is_free(const pthread_mutex_t& mark) noexcept {
  return (word_of(mark) & (FUTEX_TID_MASK | FUTEX_OWNER_DIED)) == 0;
}

}  // namespace vramguard
