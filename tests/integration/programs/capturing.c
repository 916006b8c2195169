/* Captures a stream while everything happens that makes the guard call the driver by itself: capturing MODE. Prints the
 * code of each call, "capturing" when all but the end is done, and after a line on its standard input what the capture
 * came to, and what the graph did. */
#include <pthread.h>

#include "tests/integration/programs/guest.h"

static struct driver cu;
static CUstream captured, other;
static int failures; /* calls that must succeed */

static void expect(const char* what, CUresult code, CUresult expected) {
  if (code == expected) return;
  printf("%s %d\n", what, code);
  ++failures;
}

/* Fills the pool of the device, and gives it back: the pool keeps it. */
static void let_pool_keep(size_t bytes) {
  CUdeviceptr address = 0;
  expect("async", cu.cuMemAllocAsync(&address, bytes, other), 0);
  expect("free async", cu.cuMemFreeAsync(address, other), 0);
  expect("synchronize", cu.cuStreamSynchronize(other), 0);
}

/* What is allowed in any thread while somebody captures. The first two fit only after the pool is trimmed. */
static void use_memory(void) {
  const CUmemAllocationProp prop = {1, 0, {1, 0}, NULL, {0, 0, 0, {0}}};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  size_t free_bytes = 0, total_bytes = 0;
  let_pool_keep((size_t)1000 << 20);
  expect("create", cu.cuMemCreate(&handle, (size_t)1200 << 20, &prop, 0), 0);
  expect("info", cu.cuMemGetInfo_v2(&free_bytes, &total_bytes), 0);
  expect("release", cu.cuMemRelease(handle), 0);
  let_pool_keep((size_t)1000 << 20);
  expect("too much", cu.cuMemCreate(&handle, (size_t)4000 << 20, &prop, 0), 2);
  expect("too much async", cu.cuMemAllocAsync(&address, (size_t)4000 << 20, other), 2);
}

/* The same in relaxed mode, with calls that are allowed only there. */
static void use_memory_relaxed(void) {
  CUstreamCaptureMode mode = 2;
  CUresult (*exchange)(CUstreamCaptureMode*);
  *(void**)&exchange = find_function("dlsym", "cuThreadExchangeStreamCaptureMode");
  expect("exchange", exchange(&mode), 0);
  let_pool_keep((size_t)1000 << 20);
  expect("free", cu.cuMemFree_v2(allocate_bytes(&cu, (size_t)1200 << 20)), 0);
  CUdeviceptr address = 0;
  expect("too much linear", cu.cuMemAlloc_v2(&address, (size_t)4000 << 20), 2);
  expect("exchange back", exchange(&mode), 0);
}

static void* second_thread(void* unused) {
  use_device(&cu, 0);
  use_memory();
  use_memory_relaxed();
  return unused;
}

static CUresult launch(CUgraph graph) {
  CUgraphExec exec = NULL;
  CUresult code = cu.cuGraphInstantiateWithFlags(&exec, graph, 0);
  if (code == 0) code = cu.cuGraphLaunch(exec, captured);
  if (code == 0) code = cu.cuStreamSynchronize(captured);
  return code;
}

int main(int argc, char** argv) {
  const CUstreamCaptureMode mode = argc > 1 ? atoi(argv[1]) : 0;
  char line[16];
  unsigned long long all = ~0ULL;
  CUmemoryPool pool = NULL;
  CUdeviceptr address = 0;
  CUgraph graph = NULL;
  pthread_t thread;
  setvbuf(stdout, NULL, _IOLBF, 0);
  cu = start_cuda();
  must(cu.cuDeviceGetDefaultMemPool(&pool, 0) == 0 && cu.cuMemPoolSetAttribute(pool, 4, &all) == 0,
       "a pool that keeps");
  must(cu.cuStreamCreate(&captured, 1) == 0 && cu.cuStreamCreate(&other, 1) == 0, "cuStreamCreate");
  expect("begin", cu.cuStreamBeginCapture_v2(captured, mode), 0);
  expect("async node", cu.cuMemAllocAsync(&address, (size_t)64 << 20, captured), 0);
  expect("free node", cu.cuMemFreeAsync(address, captured), 0);
  use_memory();
  pthread_create(&thread, NULL, second_thread, NULL);
  pthread_join(thread, NULL);
  puts("capturing");
  must(fgets(line, sizeof line, stdin) != NULL, "a line");
  const CUresult end = cu.cuStreamEndCapture(captured, &graph);
  printf("end %d %s launch %d failures %d\n", end, graph ? "graph" : "none", graph ? launch(graph) : -1, failures);
  return 0;
}
