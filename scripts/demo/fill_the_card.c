/* An ordinary CUDA driver-API program that has never heard of vramguard: it takes what the card seems to have, lives
 * with a refusal, gives some back, and goes on. It finds the driver as the CUDA runtime does, with dlopen. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long CUdeviceptr;

static void* driver;
static void* symbol(const char* name) {
  void* found = dlsym(driver, name);
  if (!found) {
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
  }
  return found;
}

static void must(const char* what, int result) {
  if (result == 0) return;
  fprintf(stderr, "%s failed with error %d\n", what, result);
  exit(1);
}

int main(void) {
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*init)(unsigned) = symbol("cuInit");
  int (*retain)(void**, int) = symbol("cuDevicePrimaryCtxRetain");
  int (*set_current)(void*) = symbol("cuCtxSetCurrent");
  int (*info)(size_t*, size_t*) = symbol("cuMemGetInfo_v2");
  int (*allocate)(CUdeviceptr*, size_t) = symbol("cuMemAlloc_v2");
  int (*release)(CUdeviceptr) = symbol("cuMemFree_v2");

  void* context = NULL;
  size_t free_bytes = 0, total_bytes = 0;
  must("cuInit", init(0));
  must("cuDevicePrimaryCtxRetain", retain(&context, 0));
  must("cuCtxSetCurrent", set_current(context));
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
