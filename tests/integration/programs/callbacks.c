/* Frees and asks for memory inside functions that the driver calls back: callbacks. Prints the codes, and after each
 * function whether the guard and the driver say the same is used, as far as there is a guard. */
#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

static struct driver cu;
static CUstream stream;
static CUdeviceptr linear, pooled, managed;
static CUmemGenericAllocationHandle physical;

static void look(const char* where) {
  size_t free_bytes = 0, total_bytes = 0;
  must(cu.cuMemGetInfo_v2(&free_bytes, &total_bytes) == 0, "cuMemGetInfo_v2");
  printf("%s %s\n", where, total_bytes - free_bytes == nvml_bytes(0) ? "same" : "different");
}

static void take_memory(void) {
  const CUmemAllocationProp prop = {1, 0, {1, 0}, NULL, {0, 0, 0, {0}}};
  linear = allocate_bytes(&cu, 64 * kMiB);
  must(cu.cuMemAllocAsync(&pooled, 64 * kMiB, stream) == 0, "cuMemAllocAsync");
  must(cu.cuMemCreate(&physical, 64 * kMiB, &prop, 0) == 0, "cuMemCreate");
  must(cu.cuMemAllocManaged(&managed, 2 * kMiB, 1) == 0, "cuMemAllocManaged");
  must(cu.cuMemsetD8_v2(managed, 0, 2 * kMiB) == 0, "cuMemsetD8_v2");
}

static void free_memory(void* name) {
  CUdeviceptr refused = 7;
  use_device(&cu, 0); /* the driver may have a thread of its own */
  printf("%s:", (const char*)name);
  printf(" %d", cu.cuMemFree_v2(linear));
  printf(" %d", cu.cuMemFreeAsync(pooled, stream));
  printf(" %d", cu.cuMemRelease(physical));
  printf(" %d", cu.cuMemFree_v2(managed));
  printf(" %d", cu.cuMemAlloc_v2(&refused, (size_t)1 << 40));
  printf(" %d\n", refused == 7);
  look("inside");
}

static void stream_callback(CUstream unused, CUresult status, void* name) {
  (void)unused;
  must(status == 0, "the status");
  free_memory(name);
}

int main(void) {
  CUresult (*call_function)(CUstream, void (*)(void*), void*);
  CUresult (*add_callback)(CUstream, void (*)(CUstream, CUresult, void*), void*, unsigned);
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  static char function[] = "function", callback[] = "callback", node[] = "node";
  cu = start_cuda();
  *(void**)&call_function = find_function("dlsym", "cuLaunchHostFunc");
  *(void**)&add_callback = find_function("dlsym", "cuStreamAddCallback");
  must(cu.cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");

  take_memory();
  printf("%d\n", call_function(stream, free_memory, function));
  look("after");
  take_memory();
  printf("%d\n", add_callback(stream, stream_callback, callback, 0));
  look("after");
  /* Inside the launch of a graph. */
  must(cu.cuStreamBeginCapture_v2(stream, 2) == 0, "cuStreamBeginCapture_v2");
  must(call_function(stream, free_memory, node) == 0, "a node");
  must(cu.cuStreamEndCapture(stream, &graph) == 0, "cuStreamEndCapture");
  must(cu.cuGraphInstantiateWithFlags(&exec, graph, 0) == 0, "cuGraphInstantiateWithFlags");
  take_memory();
  printf("%d\n", cu.cuGraphLaunch(exec, stream));
  must(cu.cuStreamSynchronize(stream) == 0, "cuStreamSynchronize");
  look("after");
  return 0;
}
