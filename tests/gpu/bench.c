// What the wrapped calls cost: median nanoseconds, one line a call; run it with and without the guard and compare.
// bench [ROUNDS]
#include <pthread.h>
#include <time.h>

#include "session.h"

enum { kMostThreads = 8, kBatch = 16 };

struct lane {
  const struct session* session;
  CUstream stream;  // of stream-ordered pairs, else null
  unsigned long long bytes;
  unsigned rounds;
  unsigned* samples;
};

static unsigned long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (unsigned long long)time.tv_sec * 1000000000ULL + (unsigned long long)time.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  unsigned x = *(const unsigned*)a, y = *(const unsigned*)b;
  return (x > y) - (x < y);
}

static unsigned median(unsigned* samples, size_t count) {
  qsort(samples, count, sizeof *samples, by_value);
  return samples[count / 2];
}

static void* run_pairs(void* argument) {
  struct lane* lane = argument;
  const struct driver* cu = &lane->session->cu;
  MUST(cu->cuCtxSetCurrent(lane->session->context));
  const int pairs = lane->stream ? kBatch : 1;
  for (unsigned i = 0; i < lane->rounds; ++i) {
    CUdeviceptr address = 0;
    unsigned long long start = now_ns();
    for (int j = 0; j < pairs; ++j) {
      if (lane->stream) {
        MUST(cu->cuMemAllocAsync(&address, lane->bytes, lane->stream));
        MUST(cu->cuMemFreeAsync(address, lane->stream));
      } else {
        MUST(cu->cuMemAlloc_v2(&address, lane->bytes));
        MUST(cu->cuMemFree_v2(address));
      }
    }
    lane->samples[i] = (unsigned)((now_ns() - start) / (unsigned)pairs);
  }
  return NULL;
}

enum order { kAtOnce, kInStream };

static void bench_pairs(const struct session* session, enum order order, const char* name, unsigned long long bytes,
                        unsigned threads, unsigned rounds) {
  struct lane lanes[kMostThreads];
  pthread_t ids[kMostThreads];
  unsigned* samples = calloc((size_t)threads * rounds, sizeof *samples);
  for (unsigned i = 0; i < threads; ++i) {
    lanes[i] = (struct lane){session, NULL, bytes, rounds, samples + (size_t)i * rounds};
    if (order == kInStream) MUST(session->cu.cuStreamCreate(&lanes[i].stream, 1));
    pthread_create(&ids[i], NULL, run_pairs, &lanes[i]);
  }
  for (unsigned i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  const char* what = order == kInStream ? "cuMemAllocAsync + cuMemFreeAsync" : "cuMemAlloc + cuMemFree";
  printf("%s %s, %u thread%s=%u\n", what, name, threads, threads > 1 ? "s" : "",
         median(samples, (size_t)threads * rounds));
  free(samples);
}

static void bench_short(const struct session* session, unsigned rounds) {
  unsigned* samples = calloc(rounds, sizeof *samples);
  for (unsigned i = 0; i < rounds; ++i) {
    size_t free_bytes, total_bytes;
    unsigned long long start = now_ns();
    for (unsigned j = 0; j < kBatch; ++j) session->cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    samples[i] = (unsigned)((now_ns() - start) / kBatch);
  }
  printf("cuMemGetInfo=%u\n", median(samples, rounds));
  for (unsigned i = 0; i < rounds; ++i) {
    CUcontext context;
    unsigned long long start = now_ns();
    for (unsigned j = 0; j < 1000; ++j) session->cu.cuCtxGetCurrent(&context);
    samples[i] = (unsigned)(now_ns() - start);
  }
  printf("1000 x cuCtxGetCurrent (not wrapped)=%u\n", median(samples, rounds));
  free(samples);
}

int main(int argc, char** argv) {
  unsigned rounds = (unsigned)parse_bytes(argc, argv, 1, 1000);
  struct session session = session_start();
  CUdeviceptr warm = 0;
  MUST(session.cu.cuMemAlloc_v2(&warm, MIB(2)));
  static const struct {
    const char* name;
    unsigned long long bytes;
  } kSizes[] = {{"64 KiB", KIB(64)}, {"2 MiB", MIB(2)}, {"16 MiB", MIB(16)}};
  for (unsigned i = 0; i < sizeof kSizes / sizeof kSizes[0]; ++i) {
    bench_pairs(&session, kAtOnce, kSizes[i].name, kSizes[i].bytes, 1, rounds);
    bench_pairs(&session, kAtOnce, kSizes[i].name, kSizes[i].bytes, kMostThreads, rounds / 4);
  }
  CUmemoryPool pool = NULL;
  unsigned long long keep_all = ~0ULL;
  MUST(session.cu.cuDeviceGetDefaultMemPool(&pool, session.device));
  MUST(session.cu.cuMemPoolSetAttribute(pool, 4, &keep_all));
  bench_pairs(&session, kInStream, "1 MiB", MIB(1), 1, rounds);
  bench_pairs(&session, kInStream, "1 MiB", MIB(1), kMostThreads, rounds / 4);
  CUstream stream = NULL;
  MUST(session.cu.cuStreamCreate(&stream, 1));
  for (unsigned i = 0; i < 10000; ++i) {
    CUdeviceptr live = 0;
    MUST(session.cu.cuMemAllocAsync(&live, KIB(64), stream));
  }
  bench_pairs(&session, kInStream, "1 MiB beside 10,000 live", MIB(1), 1, rounds);
  bench_short(&session, rounds);
  return 0;
}
