/* Takes memory of every kind as its standard input says, a call a line, and prints what came back: the command, the
 * code, the outputs that are the same in every run. Usage: kinds [WAY] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/programs/driver_api.h"
#include "tests/integration/programs/nvml_number.h"

enum { kMost = 4096, kWords = 6 };

static struct driver cu;
static unsigned long long slots[kMost]; /* what was taken, in order: addresses and handles */
static int slot_count;
static CUstream stream;

struct words {
  int count;
  char* word[kWords];
};

static unsigned long long number(const struct words* words, int i) {
  return i < words->count ? strtoull(words->word[i], NULL, 0) : 0;
}

static unsigned long long slot(const struct words* words, int i) { return slots[number(words, i)]; }
static int is(const struct words* words, const char* name) { return strcmp(words->word[0], name) == 0; }

/* Prints the code, and the slot where there is something new; 77 as an item shows an output that was written. */
static void took(CUresult code, unsigned long long item) {
  printf("%d", code);
  if (code == 0) {
    slots[slot_count] = item;
    printf(" %d", slot_count++);
  } else if (item != 77) {
    printf(" written");
  }
}

static CUmemAllocationProp memory_at(int type, int id) {
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = 1;
  prop.location.type = type;
  prop.location.id = id;
  return prop;
}

static CUmemPoolProps pool_at(int type, int id) {
  CUmemPoolProps props;
  memset(&props, 0, sizeof props);
  props.allocType = 1;
  props.location.type = type;
  props.location.id = id;
  return props;
}

static int virtual_memory(const struct words* words) {
  unsigned long long item = 77;
  if (is(words, "create")) { /* BYTES [LOCATION_TYPE ID] */
    const CUmemAllocationProp prop = memory_at(words->count > 2 ? (int)number(words, 2) : 1, (int)number(words, 3));
    const CUresult code = cu.cuMemCreate(&item, number(words, 1), &prop, 0);
    took(code, item);
  } else if (is(words, "release")) {
    printf("%d", cu.cuMemRelease(slot(words, 1)));
  } else if (is(words, "reserve")) {
    const CUresult code = cu.cuMemAddressReserve(&item, number(words, 1), 0, 0, 0);
    took(code, item);
  } else if (is(words, "map")) { /* RESERVED OFFSET BYTES HANDLE */
    printf("%d", cu.cuMemMap(slot(words, 1) + number(words, 2), number(words, 3), 0, slot(words, 4), 0));
  } else if (is(words, "unmap")) { /* RESERVED OFFSET BYTES */
    printf("%d", cu.cuMemUnmap(slot(words, 1) + number(words, 2), number(words, 3)));
  } else if (is(words, "retain_handle")) { /* RESERVED OFFSET */
    const CUresult code = cu.cuMemRetainAllocationHandle(&item, (void*)(slot(words, 1) + number(words, 2)));
    took(code, item);
  } else {
    return 0;
  }
  return 1;
}

static int pools(const struct words* words) {
  unsigned long long item = 77;
  if (is(words, "async")) {
    const CUresult code = cu.cuMemAllocAsync(&item, number(words, 1), stream);
    took(code, item);
  } else if (is(words, "free_async")) {
    printf("%d", cu.cuMemFreeAsync(slot(words, 1), stream));
  } else if (is(words, "pool")) { /* [LOCATION_TYPE ID] */
    CUmemoryPool pool = (CUmemoryPool)77;
    const CUmemPoolProps props = pool_at(words->count > 1 ? (int)number(words, 1) : 1, (int)number(words, 2));
    const CUresult code = cu.cuMemPoolCreate(&pool, &props);
    took(code, (unsigned long long)pool);
  } else if (is(words, "keep")) { /* POOL: gives nothing back by itself */
    unsigned long long all = ~0ULL;
    printf("%d", cu.cuMemPoolSetAttribute((CUmemoryPool)slot(words, 1), 4, &all));
  } else if (is(words, "from")) { /* POOL BYTES */
    const CUresult code = cu.cuMemAllocFromPoolAsync(&item, number(words, 2), (CUmemoryPool)slot(words, 1), stream);
    took(code, item);
  } else if (is(words, "end_pool")) {
    printf("%d", cu.cuMemPoolDestroy((CUmemoryPool)slot(words, 1)));
  } else if (is(words, "default_pool")) {
    CUmemoryPool pool = NULL;
    const CUresult code = cu.cuDeviceGetDefaultMemPool(&pool, (CUdevice)number(words, 1));
    took(code, (unsigned long long)pool);
  } else if (is(words, "synchronize")) {
    printf("%d", cu.cuStreamSynchronize(stream));
  } else {
    return 0;
  }
  return 1;
}

static int arrays(const struct words* words) {
  if (is(words, "array")) { /* WIDTH HEIGHT DEPTH FLAGS of floats */
    CUarray array = (CUarray)77;
    const CUDA_ARRAY3D_DESCRIPTOR shape = {number(words, 1),          number(words, 2), number(words, 3), 0x20, 1,
                                           (unsigned)number(words, 4)};
    const CUresult code = cu.cuArray3DCreate_v2(&array, &shape);
    took(code, (unsigned long long)array);
  } else if (is(words, "mipmaps")) { /* WIDTH HEIGHT LEVELS */
    CUmipmappedArray array = (CUmipmappedArray)77;
    const CUDA_ARRAY3D_DESCRIPTOR shape = {number(words, 1), number(words, 2), 0, 0x20, 1, 0};
    const CUresult code = cu.cuMipmappedArrayCreate(&array, &shape, (unsigned)number(words, 3));
    took(code, (unsigned long long)array);
  } else if (is(words, "end_array")) {
    printf("%d", cu.cuArrayDestroy((CUarray)slot(words, 1)));
  } else if (is(words, "end_mipmaps")) {
    printf("%d", cu.cuMipmappedArrayDestroy((CUmipmappedArray)slot(words, 1)));
  } else {
    return 0;
  }
  return 1;
}

/* A graph of COUNT allocations of BYTES, each freed before the next where FREED is 1. */
static CUresult make_graph(int count, unsigned long long bytes, int freed, CUgraphExec* exec) {
  CUgraph graph = NULL;
  CUgraphNode last = NULL;
  CUresult code = cu.cuGraphCreate(&graph, 0);
  for (int i = 0; i < count && code == 0; ++i) {
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    memset(&params, 0, sizeof params);
    params.poolProps = pool_at(1, 0);
    params.bytesize = bytes;
    CUgraphNode node = NULL;
    code = cu.cuGraphAddMemAllocNode(&node, graph, &last, last ? 1 : 0, &params);
    last = node;
    if (code == 0 && freed) {
      code = cu.cuGraphAddMemFreeNode(&node, graph, &last, 1, params.dptr);
      last = node;
    }
  }
  if (code == 0) code = cu.cuGraphInstantiateWithFlags(exec, graph, 0);
  cu.cuGraphDestroy(graph);
  return code;
}

static int graphs(const struct words* words) {
  CUgraphExec exec = (CUgraphExec)77;
  if (is(words, "graph")) { /* COUNT BYTES FREED */
    const CUresult code = make_graph((int)number(words, 1), number(words, 2), (int)number(words, 3), &exec);
    took(code, (unsigned long long)exec);
  } else if (is(words, "launch")) {
    printf("%d", cu.cuGraphLaunch((CUgraphExec)slot(words, 1), stream));
  } else if (is(words, "upload")) {
    printf("%d", cu.cuGraphUpload((CUgraphExec)slot(words, 1), stream));
  } else if (is(words, "end_graph")) {
    printf("%d", cu.cuGraphExecDestroy((CUgraphExec)slot(words, 1)));
  } else if (is(words, "trim_graphs")) {
    printf("%d", cu.cuDeviceGraphMemTrim((CUdevice)number(words, 1)));
  } else if (is(words, "captured")) { /* COMMAND...: it within a global capture; then what the capture came to */
    CUgraph graph = NULL;
    const CUresult begin = cu.cuStreamBeginCapture_v2(stream, 0);
    unsigned long long item = 77;
    const CUresult code = strcmp(words->word[1], "async") == 0 ? cu.cuMemAllocAsync(&item, number(words, 2), stream)
                                                               : cu.cuMemAlloc_v2(&item, number(words, 2));
    const CUresult end = cu.cuStreamEndCapture(stream, &graph);
    printf("%d %d %d %s", begin, code, end, graph ? "graph" : "none");
  } else {
    return 0;
  }
  return 1;
}

/* Codes of both versions of a call; the later one is missing in old drivers. */
static void both(CUresult first, CUresult second) { printf("%d %d", first, second); }

static int managed(const struct words* words) {
  if (!is(words, "prefetch") && !is(words, "prefetch_batch") && !is(words, "advise")) return 0;
  const unsigned long long address = slot(words, 1), bytes = number(words, 2);
  if (is(words, "prefetch")) { /* SLOT BYTES DEVICE; -1: to the host */
    const int device = (int)number(words, 3);
    const CUmemLocation to = {device < 0 ? 2 : 1, device};
    both(cu.cuMemPrefetchAsync(address, bytes, device, stream),
         cu.cuMemPrefetchAsync_v2 ? cu.cuMemPrefetchAsync_v2(address, bytes, to, 0, stream) : 0);
  } else if (is(words, "prefetch_batch")) { /* SLOT BYTES SLOT: both, by one call */
    CUdeviceptr addresses[] = {address, slot(words, 3)};
    size_t sizes[] = {bytes, bytes}, first = 0;
    CUmemLocation to = {1, 0};
    both(cu.cuMemPrefetchBatchAsync(addresses, sizes, 2, &to, &first, 1, 0, stream),
         cu.cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, 2, &to, &first, 1, 0, stream));
  } else { /* advise SLOT BYTES ADVICE */
    const CUmem_advise advice = (CUmem_advise)number(words, 3);
    both(cu.cuMemAdvise(address, bytes, advice, 0),
         cu.cuMemAdvise_v2 ? cu.cuMemAdvise_v2(address, bytes, advice, (CUmemLocation){1, 0}) : 0);
  }
  return 1;
}

static void* free_address(void* address) {
  cu.cuMemFree_v2((CUdeviceptr)address);
  return NULL;
}

static int host_and_managed(const struct words* words) {
  unsigned long long item = 77;
  if (is(words, "managed")) {
    const CUresult code = cu.cuMemAllocManaged(&item, number(words, 1), 1);
    took(code, item);
  } else if (is(words, "touch")) { /* SLOT BYTES */
    printf("%d", cu.cuMemsetD8_v2(slot(words, 1), 1, number(words, 2)));
  } else if (is(words, "pin")) {
    void* memory = (void*)77;
    const CUresult code = cu.cuMemAllocHost_v2(&memory, number(words, 1));
    took(code, (unsigned long long)memory);
  } else if (is(words, "unpin")) {
    printf("%d", cu.cuMemFreeHost((void*)slot(words, 1)));
  } else if (is(words, "linear")) {
    const CUresult code = cu.cuMemAlloc_v2(&item, number(words, 1));
    took(code, item);
  } else if (is(words, "free")) {
    printf("%d", cu.cuMemFree_v2(slot(words, 1)));
  } else if (is(words, "free_beside")) { /* SLOT: by another thread, while this one goes on */
    pthread_t thread;
    printf("%d", pthread_create(&thread, NULL, free_address, (void*)slot(words, 1)));
    pthread_detach(thread);
  } else {
    return 0;
  }
  return 1;
}

static int looks(const struct words* words) {
  size_t free_bytes = 0, total_bytes = 0;
  if (is(words, "info")) {
    const CUresult code = cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    printf("%d %zu %zu", code, free_bytes, total_bytes);
  } else if (is(words, "used")) { /* by the books */
    cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    printf("%zu", total_bytes - free_bytes);
  } else if (is(words, "nvml")) { /* what tools see: total free used, by both versions */
    struct nvml_memory_numbers one = nvml_memory(0), two = nvml_memory_v2(0);
    printf("%llu %llu %llu / %llu %llu %llu", one.total, one.free, one.used, two.total, two.free, two.used);
  } else if (is(words, "limit")) { /* LIMIT VALUE */
    printf("%d", cu.cuCtxSetLimit((CUlimit)number(words, 1), number(words, 2)));
  } else if (is(words, "reset")) {
    printf("%d", cu.cuDevicePrimaryCtxReset_v2(0));
  } else if (is(words, "device")) { /* ORDINAL: its primary context becomes current, and a stream on it */
    CUcontext context = NULL;
    const CUresult code = cu.cuDevicePrimaryCtxRetain(&context, (CUdevice)number(words, 1));
    printf("%d %d", code, cu.cuCtxSetCurrent(context));
    cu.cuStreamCreate(&stream, 1);
  } else if (is(words, "current")) { /* ORDINAL: without another stream */
    CUcontext context = NULL;
    cu.cuDevicePrimaryCtxRetain(&context, (CUdevice)number(words, 1));
    printf("%d", cu.cuCtxSetCurrent(context));
  } else if (is(words, "stream")) { /* another one, in the current context; whether it has the same handle */
    const CUstream before = stream;
    printf("%d ", cu.cuStreamDestroy_v2(stream));
    printf("%d %d", cu.cuStreamCreate(&stream, 1), stream == before);
  } else if (is(words, "init")) {
    printf("%d", cu.cuInit(0));
  } else {
    return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  cu = find_driver(argc > 1 ? argv[1] : "dlsym");
  char line[256];
  while (fgets(line, sizeof line, stdin)) {
    struct words words = {0, {0}};
    for (char* word = strtok(line, " \n"); word && words.count < kWords; word = strtok(NULL, " \n"))
      words.word[words.count++] = word;
    if (words.count == 0) continue;
    printf("%s ", words.word[0]);
    if (!virtual_memory(&words) && !pools(&words) && !arrays(&words) && !graphs(&words) && !managed(&words) &&
        !host_and_managed(&words) && !looks(&words)) {
      fprintf(stderr, "no command %s\n", words.word[0]);
      return 2;
    }
    printf("\n");
  }
  return 0;
}
