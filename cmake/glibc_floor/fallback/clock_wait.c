// glibc 2.30: waits until a time of a clock that the caller names. The older calls know the wall clock only.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { kSecond = 1000000000 };

// A step of the wall clock shortens or lengthens one slice, not the whole wait.
static const long kLongestSlice = kSecond / 4;

// False when `deadline` has passed; otherwise where the next slice ends on the wall clock.
static int next_slice(clockid_t clock, const struct timespec* deadline, struct timespec* end) {
  struct timespec now;
  clock_gettime(clock, &now);
  if (now.tv_sec > deadline->tv_sec || (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec)) return 0;
  long left = kLongestSlice;
  if (deadline->tv_sec - now.tv_sec <= 1) {
    long exact = (long)(deadline->tv_sec - now.tv_sec) * kSecond + deadline->tv_nsec - now.tv_nsec;
    if (exact < left) left = exact;
  }
  clock_gettime(CLOCK_REALTIME, end);
  end->tv_nsec += left;
  if (end->tv_nsec >= kSecond) {
    end->tv_nsec -= kSecond;
    ++end->tv_sec;
  }
  return 1;
}

static int usable(clockid_t clock, const struct timespec* deadline) {
  return (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME) && deadline->tv_nsec >= 0 && deadline->tv_nsec < kSecond;
}

// At the end of a slice the caller is woken for nothing, which it must expect anyway; waiting on here instead could
// miss a signal that came between two slices.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* deadline) {
  if (!usable(clock, deadline)) return EINVAL;
  struct timespec end;
  if (!next_slice(clock, deadline, &end)) end = (struct timespec){0, 0};  // Gives the mutex up once, then times out.
  int result = pthread_cond_timedwait(condition, mutex, &end);
  if (result != ETIMEDOUT) return result;
  return next_slice(clock, deadline, &end) ? 0 : ETIMEDOUT;
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* deadline) {
  if (!usable(clock, deadline)) return EINVAL;
  struct timespec end;
  int result = pthread_mutex_trylock(mutex);
  if (result == EBUSY) result = ETIMEDOUT;
  while (result == ETIMEDOUT && next_slice(clock, deadline, &end)) result = pthread_mutex_timedlock(mutex, &end);
  return result;
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const struct timespec* deadline) {
  if (!usable(clock, deadline)) return EINVAL;
  struct timespec end;
  int result = pthread_rwlock_tryrdlock(lock);
  if (result == EBUSY) result = ETIMEDOUT;
  while (result == ETIMEDOUT && next_slice(clock, deadline, &end)) result = pthread_rwlock_timedrdlock(lock, &end);
  return result;
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const struct timespec* deadline) {
  if (!usable(clock, deadline)) return EINVAL;
  struct timespec end;
  int result = pthread_rwlock_trywrlock(lock);
  if (result == EBUSY) result = ETIMEDOUT;
  while (result == ETIMEDOUT && next_slice(clock, deadline, &end)) result = pthread_rwlock_timedwrlock(lock, &end);
  return result;
}
