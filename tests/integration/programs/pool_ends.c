/* One thread makes pools, leaves memory in them and destroys them, while another is refused again and again, for which
 * the guard trims every pool it knows: pool_ends REFUSALS. Prints how many pools were destroyed, and whether guard and
 * driver say the same is used at the end. */
#include <pthread.h>
#include <string.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

static struct driver cu;
static int ended, ends;

static void* make_pools(void* unused) {
  CUmemPoolProps props;
  CUstream stream = NULL;
  unsigned long long all = ~0ULL;
  memset(&props, 0, sizeof props);
  props.allocType = 1;
  props.location.type = 1;
  use_device(&cu, 0);
  must(cu.cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");
  while (!__atomic_load_n(&ended, __ATOMIC_SEQ_CST)) {
    CUmemoryPool pool = NULL;
    CUdeviceptr address = 0;
    must(cu.cuMemPoolCreate(&pool, &props) == 0, "cuMemPoolCreate");
    must(cu.cuMemPoolSetAttribute(pool, 4, &all) == 0, "cuMemPoolSetAttribute");
    must(cu.cuMemAllocFromPoolAsync(&address, 100 * kMiB, pool, stream) == 0, "cuMemAllocFromPoolAsync");
    must(cu.cuMemFreeAsync(address, stream) == 0, "cuMemFreeAsync");
    must(cu.cuStreamSynchronize(stream) == 0, "cuStreamSynchronize");
    must(cu.cuMemPoolDestroy(pool) == 0, "cuMemPoolDestroy");
    ++ends;
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  size_t free_bytes = 0, total_bytes = 0;
  cu = start_cuda();
  pthread_create(&thread, NULL, make_pools, NULL);
  for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; --i) {
    CUdeviceptr address = 0;
    must(cu.cuMemAlloc_v2(&address, (size_t)1800 * kMiB) == 2, "a refusal");
  }
  __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
  pthread_join(thread, NULL);
  must(cu.cuMemGetInfo_v2(&free_bytes, &total_bytes) == 0, "cuMemGetInfo_v2");
  printf("%d %s\n", ends, total_bytes - free_bytes == nvml_bytes(0) ? "same" : "different");
  return 0;
}
