/* An ordinary CUDA driver-API program that has never heard of vramguard: it takes what the card seems to have, lives
 * with a refusal, gives some back, and goes on. */
#include "driver.h"

int main(void) {
  size_t free_bytes = 0, total_bytes = 0;
  start_cuda();
  must("cuMemGetInfo", info(&free_bytes, &total_bytes));
  printf("  program: the card seems to have %zu MiB, %zu MiB of them free\n", total_bytes >> 20, free_bytes >> 20);

  enum { kChunk = 256, kMost = 4096 };
  static CUdeviceptr chunks[kMost];
  int count = 0, result = 0;
  while (count < kMost && (result = allocate(&chunks[count], (size_t)kChunk << 20)) == 0) ++count;
  printf("  program: took %d chunks of %d MiB; the next one was refused with error %d (out of memory)\n", count, kChunk,
         result);

  if (count < 2) return 0;
  must("cuMemFree", release(chunks[--count]));
  must("cuMemFree", release(chunks[--count]));
  must("cuMemAlloc", allocate(&chunks[count], (size_t)kChunk << 20));
  printf("  program: gave two back, took one again, and goes on\n");
  for (++count; count > 0;) must("cuMemFree", release(chunks[--count]));
  return 0;
}
