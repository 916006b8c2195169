/* One thread is inside a slow cuMemCreate while another allocates and frees: prints whether the other was done first.
 */
#include <pthread.h>

#include "tests/integration/programs/guest.h"

static struct driver cu;
static int created;

static void* create(void* unused) {
  const CUmemAllocationProp prop = {1, 0, {1, 0}, NULL, {0, 0, 0, {0}}};
  CUmemGenericAllocationHandle handle = 0;
  must(cu.cuMemCreate(&handle, 2 << 20, &prop, 0) == 0, "cuMemCreate");
  __atomic_store_n(&created, 1, __ATOMIC_SEQ_CST);
  return unused;
}

int main(void) {
  pthread_t thread;
  cu = start_cuda();
  pthread_create(&thread, NULL, create, NULL);
  for (int i = 0; i < 100; ++i) must(cu.cuMemFree_v2(allocate_bytes(&cu, 4 << 20)) == 0, "cuMemFree_v2");
  puts(__atomic_load_n(&created, __ATOMIC_SEQ_CST) ? "after" : "meanwhile");
  pthread_join(thread, NULL);
  return 0;
}
