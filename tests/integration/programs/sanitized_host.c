/* A program that brings a sanitizer of its own: threads, memory, and the driver meanwhile. */
#include <pthread.h>
#include <string.h>

#include "tests/integration/programs/guest.h"

static struct driver cu;

static void* work(void* unused) {
  (void)unused;
  use_device(&cu, 0);
  for (int i = 0; i < 20; ++i) {
    char* host = malloc(1000);
    memset(host, i, 1000);
    const CUdeviceptr device = allocate_bytes(&cu, 3 * kMiB);
    must(cu.cuMemFree_v2(device) == 0, "cuMemFree_v2");
    free(host);
  }
  return NULL;
}

int main(void) {
  cu = start_cuda();
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) must(pthread_create(&threads[i], NULL, work, NULL) == 0, "pthread_create");
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("done %d\n", ask_too_much(&cu));
  return 0;
}
