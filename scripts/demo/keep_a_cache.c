/* A server that keeps whatever it has computed on the card, and drops it when it gets SIGUSR1: it has never heard of
 * vramguard either. A request that its cache leaves no room for would fail. */
#include <pthread.h>
#include <signal.h>

#include "driver.h"

enum { kChunk = 256, kMost = 64 };

static CUdeviceptr cache[kMost];
static int cached;

static void* drop_when_told(void* signals) {
  int number = 0;
  sigwait(signals, &number);
  must("cuCtxSetCurrent", set_current(context));
  const int dropped = cached;
  while (cached > 0) must("cuMemFree", release(cache[--cached]));
  printf("  program: told to, dropped %d MiB of its cache\n", dropped * kChunk);
  fflush(stdout);
  return NULL;
}

int main(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  start_cuda();
  pthread_t thread;
  pthread_create(&thread, NULL, drop_when_told, &signals);

  size_t free_bytes = 0, total_bytes = 0;
  must("cuMemGetInfo", info(&free_bytes, &total_bytes));
  const int room = (int)(free_bytes >> 20) / kChunk;
  while (cached < room && cached < kMost) must("cuMemAlloc", allocate(&cache[cached++], (size_t)kChunk << 20));
  printf("  program: %d MiB of cache fill the budget; a request needs %d MiB more\n", cached * kChunk, 2 * kChunk);
  fflush(stdout);

  CUdeviceptr request = 0;
  const int result = allocate(&request, (size_t)2 * kChunk << 20);
  printf("  program: the request got %s (code %d)\n", result == 0 ? "its memory" : "none", result);
  return result;
}
