/* Cancels a thread inside a driver call that is slow, and goes on. Usage: cancelled
 * alloc|free|refuse|refuse_async */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/integration/programs/guest.h"

static struct driver cu;
static const char* what;
static volatile int entered;
static CUdeviceptr block;

static void* call(void* unused) {
  (void)unused;
  use_device(&cu, 0);
  CUdeviceptr address = 0;
  entered = 1;
  if (strcmp(what, "alloc") == 0) cu.cuMemAlloc_v2(&address, 64 * kMiB);
  if (strcmp(what, "free") == 0) cu.cuMemFree_v2(block);
  if (strcmp(what, "refuse") == 0) ask_too_much(&cu);
  if (strcmp(what, "refuse_async") == 0) cu.cuMemAllocAsync(&address, 900 * (size_t)kMiB, NULL);
  pthread_testcancel();
  return NULL;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  must(argc == 2, "usage");
  what = argv[1];
  cu = start_cuda();
  block = allocate_bytes(&cu, 64 * kMiB);
  pthread_t thread;
  must(pthread_create(&thread, NULL, call, NULL) == 0, "pthread_create");
  while (!entered) usleep(1000);
  usleep(100 * 1000);
  pthread_cancel(thread);
  void* result = NULL;
  pthread_join(thread, &result);
  printf("%s %s\n", what, result == PTHREAD_CANCELED ? "cancelled" : "ran to its end");
  const double before = seconds();
  printf("refused %d", ask_too_much(&cu));
  printf(" %s\n", seconds() - before < 2.0 ? "soon" : "late");
  printf("freed %d\n", cu.cuMemFree_v2(block));
  int count = 0;
  for (CUdeviceptr address = 0; cu.cuMemAlloc_v2(&address, 64 * kMiB) == 0;) ++count;
  printf("fit %d\n", count);
  return 0;
}
