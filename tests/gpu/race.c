// Threads that race for the last bytes of the budget while another looks at the card: it may never show more.
// race BUDGET_BYTES [MILLISECONDS]
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "session.h"

enum { kThreads = 16, kHeld = 256 };

// A request that only a page shared with others could make fit is tried and, if it does not, undone. One at a time.
static const unsigned long long kTrialBytes = MIB(2);

struct race {
  const struct session* session;
  unsigned long long least, most, step;  // sizes: a multiple of `step` from `least` to `most`
  atomic_int stop;
  atomic_ulong admitted, refused, other_codes;
};

struct racer {
  struct race* race;
  unsigned seed;
};

static unsigned long long now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (unsigned long long)time.tv_sec * 1000 + (unsigned long long)time.tv_nsec / 1000000;
}

static void* run_racer(void* argument) {
  struct racer* racer = argument;
  struct race* race = racer->race;
  const struct driver* cu = &race->session->cu;
  unsigned long long random = 88172645463325252ULL + racer->seed;
  CUdeviceptr held[kHeld];
  unsigned count = 0;
  MUST(cu->cuCtxSetCurrent(race->session->context));
  while (!atomic_load(&race->stop)) {
    unsigned long long steps = (race->most - race->least) / race->step + 1;
    unsigned long long bytes = race->least + next_random(&random) % steps * race->step;
    if (count < kHeld) {
      CUresult code = cu->cuMemAlloc_v2(&held[count], bytes);
      if (code == CUDA_SUCCESS) {
        ++count;
        atomic_fetch_add(&race->admitted, 1);
        continue;
      }
      atomic_fetch_add(code == CUDA_ERROR_OUT_OF_MEMORY ? &race->refused : &race->other_codes, 1);
    }
    for (unsigned i = 0; i < 2 && count > 0; ++i) MUST(cu->cuMemFree_v2(held[--count]));
  }
  while (count > 0) MUST(cu->cuMemFree_v2(held[--count]));
  return NULL;
}

static void run_race(const struct session* session, unsigned long long budget, unsigned duration_ms, const char* name,
                     unsigned long long least, unsigned long long most, unsigned long long step) {
  struct race race = {.session = session, .least = least, .most = most, .step = step};
  struct racer racers[kThreads];
  pthread_t threads[kThreads];
  unsigned long long told_before = told_bytes(session), taken_before = truth_taken_bytes(&session->truth);
  for (unsigned i = 0; i < kThreads; ++i) {
    racers[i] = (struct racer){&race, i * 7919 + 1};
    pthread_create(&threads[i], NULL, run_racer, &racers[i]);
  }
  unsigned long long end = now_ms() + duration_ms, highest = 0;
  unsigned looks = 0;
  while (now_ms() < end) {
    unsigned long long taken = truth_taken_bytes(&session->truth);
    if (taken > highest) highest = taken;
    ++looks;
  }
  atomic_store(&race.stop, 1);
  for (unsigned i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);

  char title[96];
  snprintf(title, sizeof title, "%s never over the budget", name);
  char expected[96];
  snprintf(expected, sizeof expected, "at most a page over it, for a moment");
  report(highest <= budget + kTrialBytes && race.refused > 0 && race.other_codes == 0, title, expected,
         "%.4f in %u looks; %lu admitted, %lu refused, %lu other codes (%s)", (double)highest / (double)budget, looks,
         race.admitted, race.refused, race.other_codes, session->source);
  // A free is in the books the moment it has returned; NVML is asked once more to see that it agrees.
  unsigned long long told = told_bytes(session), taken = truth_taken_bytes(&session->truth);
  snprintf(title, sizeof title, "%s leave nothing in the books", name);
  report(told == told_before && taken == taken_before, title, "0 bytes", "books %+lld, driver %+lld",
         (long long)(told - told_before), (long long)(taken - taken_before));
}

int main(int argc, char** argv) {
  unsigned long long budget = parse_bytes(argc, argv, 1, GIB(2));
  unsigned duration_ms = (unsigned)parse_bytes(argc, argv, 2, 2000);
  struct session session = session_start();
  run_race(&session, budget, duration_ms, "16 threads, 4 to 64 MiB", MIB(4), MIB(64), MIB(2));
  run_race(&session, budget, duration_ms, "16 threads, 256 KiB to 3 MiB", KIB(256), MIB(3), 4096);
  return report_failures != 0;
}
