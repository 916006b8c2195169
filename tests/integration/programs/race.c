/* Sixteen threads race for the last bytes, again and again: race BYTES BUDGET. Prints the most that the program had
 * been given at any moment, and what the driver said at the end of each round. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/integration/programs/driver_api.h"
#include "tests/integration/programs/nvml_number.h"

enum { kThreads = 16, kRounds = 20, kMostLive = 4096 };

static struct driver cu;
static CUcontext context;
static pthread_barrier_t barrier;
static unsigned long long bytes, held, most_held, most_seen, least_seen = ~0ULL;
static unsigned other_codes;

static void note(unsigned long long* most, unsigned long long value) {
  unsigned long long before = __atomic_load_n(most, __ATOMIC_RELAXED);
  while (before < value && !__atomic_compare_exchange_n(most, &before, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static void* run(void* argument) {
  const int index = *(int*)argument;
  CUdeviceptr* live = malloc(kMostLive * sizeof *live);
  if (cu.cuCtxSetCurrent(context)) exit(3);
  for (int round = 0; round < kRounds; ++round) {
    int count = 0;
    CUresult code = 0;
    pthread_barrier_wait(&barrier);
    while (count < kMostLive && (code = cu.cuMemAlloc_v2(&live[count], bytes)) == 0) {
      ++count;
      note(&most_held, __atomic_add_fetch(&held, bytes, __ATOMIC_RELAXED));
    }
    if (code != 2) __atomic_add_fetch(&other_codes, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(&barrier);
    if (index == 0) {
      const unsigned long long seen = nvml_bytes(0);
      note(&most_seen, seen);
      if (seen < least_seen) least_seen = seen;
    }
    pthread_barrier_wait(&barrier);
    while (count > 0) {
      __atomic_sub_fetch(&held, bytes, __ATOMIC_RELAXED);
      if (cu.cuMemFree_v2(live[--count])) exit(3);
    }
    pthread_barrier_wait(&barrier);
  }
  free(live);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  int indices[kThreads];
  bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : 2 << 20;
  cu = find_driver("dlsym");
  if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&context, 0)) return 3;
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    indices[i] = i;
    pthread_create(&threads[i], NULL, run, &indices[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%llu %llu %llu %llu %u\n", most_held, most_seen, least_seen, nvml_bytes(0), other_codes);
  return 0;
}
