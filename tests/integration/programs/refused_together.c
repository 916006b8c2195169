/* Threads ask together, ROUNDS times, for what cannot be had: refused_together THREADS ROUNDS. Prints how often each
 * answer came, and whether an output was written. At the end the guard and the driver must say the same is used. */
#include <pthread.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

static struct driver cu;
static pthread_barrier_t barrier;
static int rounds, refused, others, written;

static void* run(void* unused) {
  use_device(&cu, 0);
  for (int i = 0; i < rounds; ++i) {
    CUdeviceptr address = 7;
    pthread_barrier_wait(&barrier);
    const CUresult code = cu.cuMemAlloc_v2(&address, (size_t)1000 * kMiB);
    __atomic_add_fetch(code == 2 ? &refused : &others, 1, __ATOMIC_RELAXED);
    if (address != 7) __atomic_add_fetch(&written, 1, __ATOMIC_RELAXED);
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t threads[16];
  size_t free_bytes = 0, total_bytes = 0;
  must(argc == 3, "two arguments");
  const int count = atoi(argv[1]);
  must(count <= 16, "at most 16 threads");
  rounds = atoi(argv[2]);
  cu = start_cuda();
  allocate_bytes(&cu, (size_t)1000 * kMiB);
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, run, NULL);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  must(cu.cuMemGetInfo_v2(&free_bytes, &total_bytes) == 0, "cuMemGetInfo_v2");
  printf("%d %d %d %s\n", refused, others, written, total_bytes - free_bytes == nvml_bytes(0) ? "same" : "different");
  /* What is left can still be had, to the byte. */
  allocate_bytes(&cu, free_bytes);
  return 0;
}
