/* Threads allocate and free at random on two devices, free what is not theirs to free, and lose contexts. Whenever all
 * stand still, what the guard says is used must be, to the byte, what the driver says this process takes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/programs/driver_api.h"
#include "tests/integration/programs/nvml_number.h"

enum { kThreads = 4, kRounds = 50, kOperations = 100, kMostLive = 400, kDevices = 2 };

static struct driver cu;
static pthread_barrier_t barrier;
static int wrong;

/* Threads 0 and 2 work in the primary context of devices 0 and 1, threads 1 and 3 in one that they create. */
struct worker {
  int index;
  CUdevice device;
  CUcontext context;
  CUdeviceptr live[kMostLive], stale;
  int count;
  unsigned long long random;
  unsigned refused, admitted;
};

static unsigned long long next_random(struct worker* worker) {
  worker->random ^= worker->random << 13;
  worker->random ^= worker->random >> 7;
  worker->random ^= worker->random << 17;
  return worker->random;
}

static void expect(CUresult code, CUresult expected, const char* what) {
  if (code == expected) return;
  printf("%s gave %d\n", what, code);
  __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static void open_context(struct worker* worker) {
  if (worker->index % 2 == 0) {
    expect(cu.cuDevicePrimaryCtxRetain(&worker->context, worker->device), 0, "retain");
    expect(cu.cuCtxSetCurrent(worker->context), 0, "set current");
  } else {
    expect(cu.cuCtxCreate_v2(&worker->context, 0, worker->device), 0, "create");
  }
}

static void end_context(struct worker* worker) {
  if (worker->index % 2 == 0) {
    expect(cu.cuDevicePrimaryCtxReset_v2(worker->device), 0, "reset");
  } else {
    expect(cu.cuCtxDestroy_v2(worker->context), 0, "destroy");
  }
  if (worker->count > 0) worker->stale = worker->live[0];
  worker->count = 0;
}

static void allocate(struct worker* worker) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  const unsigned long long bytes = 1 + next_random(worker) % (1ULL << (1 + next_random(worker) % 25));
  const CUresult code = next_random(worker) % 8 == 0
                            ? cu.cuMemAllocPitch_v2(&address, &pitch, 1 + bytes % 5000, 1 + bytes % 3000, 4)
                            : cu.cuMemAlloc_v2(&address, bytes);
  if (code == 0) {
    ++worker->admitted;
    worker->live[worker->count++] = address;
  } else {
    expect(code, 2, "allocate");
    ++worker->refused;
  }
}

/* Frees that the driver refuses, or that free nothing. Only of addresses that nobody else can own at this moment. */
static void free_wrongly(struct worker* worker) {
  expect(cu.cuMemFree_v2(0), 0, "free of NULL");
  expect(cu.cuMemFree_v2(0x1234), 1, "free of an unknown pointer");
  if (worker->count > 0) expect(cu.cuMemFree_v2(worker->live[worker->count - 1] + 1), 1, "free of an inner pointer");
}

static void work(struct worker* worker) {
  for (int i = 0; i < kOperations; ++i) {
    const unsigned dice = (unsigned)(next_random(worker) % 100);
    if (dice < 4) {
      free_wrongly(worker);
    } else if (worker->count == 0 || (worker->count < kMostLive && dice < 56)) {
      allocate(worker);
    } else {
      const int victim = (int)(next_random(worker) % (unsigned)worker->count);
      expect(cu.cuMemFree_v2(worker->live[victim]), 0, "free");
      worker->live[victim] = worker->live[--worker->count];
    }
  }
}

/* In the quiet: one thread looks at both devices through the eyes of the program and of the driver. */
static void compare(int round) {
  for (CUdevice device = 0; device < kDevices; ++device) {
    CUcontext context = NULL, before = NULL;
    size_t free_bytes = 0, total_bytes = 0;
    cu.cuCtxGetCurrent(&before);
    expect(cu.cuDevicePrimaryCtxRetain(&context, device), 0, "retain to look");
    cu.cuCtxSetCurrent(context);
    expect(cu.cuMemGetInfo_v2(&free_bytes, &total_bytes), 0, "look");
    const unsigned long long seen = nvml_bytes((unsigned)device), told = total_bytes - free_bytes;
    if (told != seen || free_bytes > total_bytes) {
      printf("round %d, device %d: the guard says %llu, the driver %llu\n", round, device, told, seen);
      wrong = 1;
    }
    cu.cuCtxSetCurrent(before);
    cu.cuDevicePrimaryCtxRelease_v2(device);
  }
}

/* A second free of what has just been freed: only in the quiet, since another thread may get the address at any time.
 */
static void free_twice(struct worker* worker) {
  if (worker->count > 0) {
    const CUdeviceptr address = worker->live[--worker->count];
    expect(cu.cuMemFree_v2(address), 0, "free");
    expect(cu.cuMemFree_v2(address), 1, "second free");
  }
}

static void* run(void* argument) {
  struct worker* worker = argument;
  open_context(worker);
  for (int round = 0; round < kRounds; ++round) {
    work(worker);
    pthread_barrier_wait(&barrier);
    if (worker->index == round % kThreads) free_twice(worker);
    pthread_barrier_wait(&barrier);
    if (worker->index == 0) compare(round);
    pthread_barrier_wait(&barrier);
    if (round % 7 == worker->index) {
      end_context(worker);
      open_context(worker);
    }
    pthread_barrier_wait(&barrier);
    if (worker->index == 0) compare(round);
    pthread_barrier_wait(&barrier);
  }
  while (worker->count > 0) expect(cu.cuMemFree_v2(worker->live[--worker->count]), 0, "last free");
  return NULL;
}

int main(void) {
  static struct worker workers[kThreads];
  pthread_t threads[kThreads];
  unsigned admitted = 0, refused = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  cu = find_driver("dlsym");
  expect(cu.cuInit(0), 0, "cuInit");
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    workers[i].index = i;
    workers[i].device = i / 2;
    workers[i].random = 88172645463325252ULL + 7919ULL * (unsigned)i;
    pthread_create(&threads[i], NULL, run, &workers[i]);
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    admitted += workers[i].admitted;
    refused += workers[i].refused;
  }
  compare(kRounds);
  printf("admitted %u refused %u\n", admitted, refused);
  return wrong;
}
