/* A program that keeps freed memory in pools: pool_keeper POOL, where POOL is default, own or current (one that is made
 * the device's current pool). What each step gives, and then what the guard says is used, in MiB beside the context. */
#include <string.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

enum { kThreshold = 4 };

static struct driver cu;
static unsigned long long context_bytes;
static CUresult (*get_attribute)(CUmemoryPool, int, void*), (*trim_to)(CUmemoryPool, size_t),
    (*set_pool)(CUdevice, CUmemoryPool);

static unsigned long long used(void) {
  size_t free_bytes = 0, total_bytes = 0;
  must(cu.cuMemGetInfo_v2(&free_bytes, &total_bytes) == 0, "cuMemGetInfo_v2");
  must(total_bytes - free_bytes == nvml_bytes(0), "the driver's number");
  return total_bytes - free_bytes;
}

static void step(const char* name, CUresult code) {
  printf("%s %d %llu\n", name, code, (used() - context_bytes) >> 20);
}

static CUmemoryPool pool_named(const char* name) {
  CUmemoryPool pool = NULL;
  CUmemPoolProps props;
  memset(&props, 0, sizeof props);
  props.allocType = 1;
  props.location.type = 1;
  const CUresult code =
      strcmp(name, "default") == 0 ? cu.cuDeviceGetDefaultMemPool(&pool, 0) : cu.cuMemPoolCreate(&pool, &props);
  must(code == 0, "a pool");
  if (strcmp(name, "current") == 0) must(set_pool(0, pool) == 0, "cuDeviceSetMemPool");
  return pool;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "default";
  const int explicitly = strcmp(name, "own") == 0;
  unsigned long long threshold = ~0ULL;
  CUdeviceptr address = 0, linear = 0;
  CUstream stream = NULL;
  cu = start_cuda();
  *(void**)&get_attribute = find_function("dlsym", "cuMemPoolGetAttribute");
  *(void**)&trim_to = find_function("dlsym", "cuMemPoolTrimTo");
  *(void**)&set_pool = find_function("dlsym", "cuDeviceSetMemPool");
  context_bytes = nvml_bytes(0);
  const CUmemoryPool pool = pool_named(name);
  must(cu.cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");
  step("keep", cu.cuMemPoolSetAttribute(pool, kThreshold, &threshold));
  for (int round = 0; round < 2; ++round) {
    step("take", explicitly ? cu.cuMemAllocFromPoolAsync(&address, 800 * kMiB, pool, stream)
                            : cu.cuMemAllocAsync(&address, 800 * kMiB, stream));
    step("free", cu.cuMemFreeAsync(address, stream));
    step("again", cu.cuMemFreeAsync(address, stream)); /* credits nothing */
    step("synchronize", cu.cuStreamSynchronize(stream));
    if (round == 1) break;
    step("linear", cu.cuMemAlloc_v2(&linear, 800 * kMiB)); /* fits once the pool is trimmed */
    step("free linear", cu.cuMemFree_v2(linear));
  }
  step("trim", trim_to(pool, 0));
  threshold = 0;
  must(get_attribute(pool, kThreshold, &threshold) == 0, "cuMemPoolGetAttribute");
  printf("threshold %s\n", threshold == ~0ULL ? "kept" : "changed");
  if (strcmp(name, "default") != 0) step("destroy", cu.cuMemPoolDestroy(pool));
  return 0;
}
