// Takes memory by every path until refused: the card must then have given the budget, not more and not much less.
// Every path ends with everything given back, and the next request served. paths BUDGET_BYTES [NAME]
#include "kinds.h"

enum { kMost = 1 << 16 };

// What was taken on a path, newest last: addresses, handles or graphs.
struct hoard {
  unsigned long long items[kMost];
  int count;
  unsigned long long bytes;
};

static struct session session;
static struct hoard hoard;
static CUstream stream;
static CUmemoryPool own_pool;

#define cu (&session.cu)

static void keep(const void* item, unsigned long long bytes) {
  hoard.items[hoard.count++] = (unsigned long long)item;
  hoard.bytes += bytes;
}

static CUresult kept(CUresult code, unsigned long long item, unsigned long long bytes) {
  if (code == CUDA_SUCCESS) keep((const void*)item, bytes);
  return code;
}

// --- linear
static CUresult take_linear(unsigned long long bytes) {
  CUdeviceptr address = 0;
  const CUresult code = cu->cuMemAlloc_v2(&address, bytes);
  return kept(code, address, bytes);
}
static void free_linear(unsigned long long item) { MUST(cu->cuMemFree_v2(item)); }

static CUresult take_touched(unsigned long long bytes) {
  CUdeviceptr address = 0;
  const CUresult code = cu->cuMemAllocManaged(&address, bytes, 1);
  if (code == CUDA_SUCCESS) MUST(cu->cuMemPrefetchAsync(address, bytes, session.device, stream));
  if (code == CUDA_SUCCESS) MUST(cu->cuStreamSynchronize(stream));
  return kept(code, address, bytes);
}

// --- stream-ordered
static CUresult take_async(unsigned long long bytes) {
  CUdeviceptr address = 0;
  const CUresult code = cu->cuMemAllocAsync(&address, bytes, stream);
  return kept(code, address, bytes);
}
static CUresult take_from_own(unsigned long long bytes) {
  CUdeviceptr address = 0;
  const CUresult code = cu->cuMemAllocFromPoolAsync(&address, bytes, own_pool, stream);
  return kept(code, address, bytes);
}
static void free_async(unsigned long long item) { MUST(cu->cuMemFreeAsync(item, stream)); }
static void free_pooled_as_linear(unsigned long long item) { MUST(cu->cuMemFree_v2(item)); }

static void make_own_pool(void) { own_pool = make_pool(&session); }

// --- virtual memory management
static CUresult take_handle(unsigned long long bytes) {
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = on_device(&session);
  const CUresult code = cu->cuMemCreate(&handle, bytes, &prop, 0);
  return kept(code, handle, bytes);
}
static void release_handle(unsigned long long item) { MUST(cu->cuMemRelease(item)); }

static unsigned long long mapped_bytes;
static CUresult take_mapping(unsigned long long bytes) {
  CUdeviceptr address = 0;
  const CUresult code = map_memory(&session, bytes, &address);
  mapped_bytes = bytes;
  return kept(code, address, bytes);
}
static void unmap(unsigned long long item) { unmap_memory(&session, item, mapped_bytes); }

// --- arrays
enum { kFloat = 0x20, kUint8 = 0x01 };
static CUresult take_2d(unsigned long long bytes) {  // `bytes` is the width and height of floats
  CUarray array = NULL;
  const CUDA_ARRAY_DESCRIPTOR shape = {bytes, bytes, kFloat, 1};
  const CUresult code = cu->cuArrayCreate_v2(&array, &shape);
  return kept(code, (unsigned long long)array, bytes * bytes * 4);
}
static CUresult take_shape(CUDA_ARRAY3D_DESCRIPTOR shape, unsigned long long bytes) {
  CUarray array = NULL;
  const CUresult code = cu->cuArray3DCreate_v2(&array, &shape);
  return kept(code, (unsigned long long)array, bytes);
}
static CUresult take_3d(unsigned long long edge) {
  return take_shape((CUDA_ARRAY3D_DESCRIPTOR){edge, edge, edge, kFloat, 1, 0}, edge * edge * edge * 4);
}
static CUresult take_layered(unsigned long long edge) {
  return take_shape((CUDA_ARRAY3D_DESCRIPTOR){edge, edge, 6, kFloat, 1, 1}, edge * edge * 6 * 4);
}
static CUresult take_cubemap(unsigned long long edge) {
  return take_shape((CUDA_ARRAY3D_DESCRIPTOR){edge, edge, 6, kFloat, 1, 4}, edge * edge * 6 * 4);
}
static CUresult take_1d(unsigned long long width) {
  return take_shape((CUDA_ARRAY3D_DESCRIPTOR){width, 0, 0, kUint8, 1, 0}, width);
}
static void destroy_array(unsigned long long item) { MUST(cu->cuArrayDestroy((CUarray)item)); }

static CUresult take_mipmaps(unsigned long long edge) {
  CUmipmappedArray array = NULL;
  const CUDA_ARRAY3D_DESCRIPTOR shape = {edge, edge, 0, kFloat, 1, 0};
  const CUresult code = cu->cuMipmappedArrayCreate(&array, &shape, 8);
  return kept(code, (unsigned long long)array, edge * edge * 16 / 3);
}
static void destroy_mipmaps(unsigned long long item) { MUST(cu->cuMipmappedArrayDestroy((CUmipmappedArray)item)); }

// --- graphs: one allocation each, freed by nobody, so that no two can share
static CUresult launch(CUgraph graph, unsigned long long bytes) {
  CUgraphExec exec = NULL;
  MUST(cu->cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cu->cuGraphDestroy(graph));
  CUresult code = cu->cuGraphLaunch(exec, stream);
  if (code != CUDA_SUCCESS) MUST(cu->cuGraphExecDestroy(exec));
  return kept(code, (unsigned long long)exec, bytes);
}
static CUdeviceptr graph_addresses[kMost];
static CUresult take_node(unsigned long long bytes) {
  CUgraphNode node = NULL;
  return launch(make_graph(&session, bytes, &graph_addresses[hoard.count], &node), bytes);
}
static CUresult take_captured(unsigned long long bytes) {
  CUgraph graph = NULL;
  CUdeviceptr address = 0;
  MUST(cu->cuStreamBeginCapture_v2(stream, 0));
  MUST(cu->cuMemAllocAsync(&address, bytes, stream));
  MUST(cu->cuStreamEndCapture(stream, &graph));
  graph_addresses[hoard.count] = address;
  return launch(graph, bytes);
}
static void end_graph(unsigned long long item) {
  MUST(cu->cuMemFreeAsync(graph_addresses[hoard.count], stream));
  MUST(cu->cuGraphExecDestroy((CUgraphExec)item));
}
static void trim_graphs(void) {
  MUST(cu->cuStreamSynchronize(stream));
  MUST(cu->cuDeviceGraphMemTrim(session.device));
}

// --- a pool that keeps most of the budget for nobody, then linear memory
static void fill_pool_and_free(void) {
  CUmemoryPool pool = NULL;
  unsigned long long threshold = ~0ULL;
  CUdeviceptr address = 0;
  MUST(cu->cuDeviceGetDefaultMemPool(&pool, session.device));
  MUST(cu->cuMemPoolSetAttribute(pool, 4, &threshold));
  MUST(cu->cuMemAllocAsync(&address, MIB(1024), stream));
  MUST(cu->cuMemFreeAsync(address, stream));
  MUST(cu->cuStreamSynchronize(stream));
}
static void reset_threshold(void) {
  CUmemoryPool pool = NULL;
  unsigned long long threshold = 0;
  MUST(cu->cuDeviceGetDefaultMemPool(&pool, session.device));
  MUST(cu->cuMemPoolSetAttribute(pool, 4, &threshold));
  MUST(cu->cuMemPoolTrimTo(pool, 0));
}

static void synchronize(void) { MUST(cu->cuStreamSynchronize(stream)); }
static void end_own_pool(void) {
  synchronize();
  MUST(cu->cuMemPoolDestroy(own_pool));
}

struct path {
  const char* name;
  CUresult (*take)(unsigned long long);
  unsigned long long size;
  unsigned long long slack;  // of the budget that may be left when it refuses: one request, as the device takes it
  void (*give)(unsigned long long);
  void (*before)(void);
  void (*after)(void);
};

static const struct path kPaths[] = {
    {"2 MiB", take_linear, MIB(2), MIB(2), free_linear, NULL, NULL},
    {"2 MiB + 1", take_linear, MIB(2) + 1, MIB(4), free_linear, NULL, NULL},
    {"cuMemCreate", take_handle, MIB(2), MIB(2), release_handle, NULL, NULL},
    {"cuMemCreate, 20 MiB", take_handle, MIB(20), MIB(20), release_handle, NULL, NULL},
    {"create + map + release", take_mapping, MIB(10), MIB(10), unmap, NULL, NULL},
    {"async, default pool", take_async, MIB(20), MIB(64), free_async, NULL, synchronize},
    {"async, 1 MiB", take_async, MIB(1), MIB(34), free_async, NULL, synchronize},
    {"async, freed by cuMemFree", take_async, MIB(32), MIB(32), free_pooled_as_linear, NULL, synchronize},
    {"async, own pool", take_from_own, MIB(20), MIB(64), free_async, make_own_pool, end_own_pool},
    {"pool keeps 1 GiB, then linear", take_linear, MIB(2), MIB(2), free_linear, fill_pool_and_free, reset_threshold},
    {"2D arrays", take_2d, 2048, MIB(16), destroy_array, NULL, NULL},
    {"3D arrays", take_3d, 128, MIB(8), destroy_array, NULL, NULL},
    {"layered arrays", take_layered, 1000, MIB(32), destroy_array, NULL, NULL},
    {"cubemap arrays", take_cubemap, 1024, MIB(24), destroy_array, NULL, NULL},
    {"mipmapped arrays", take_mipmaps, 2048, MIB(24), destroy_mipmaps, NULL, NULL},
    {"small 2D arrays, 256 KiB", take_2d, 256, MIB(2), destroy_array, NULL, NULL},
    {"1D arrays, 64 KiB", take_1d, KIB(64), MIB(2), destroy_array, NULL, NULL},
    {"graph nodes", take_node, MIB(40), MIB(64), end_graph, NULL, trim_graphs},
    {"captured allocations", take_captured, MIB(40), MIB(64), end_graph, NULL, trim_graphs},
    {"managed, touched", take_touched, MIB(10), MIB(10), free_linear, NULL, NULL},
};

static void give_all(const struct path* path) {
  while (hoard.count > 0) path->give(hoard.items[--hoard.count]);
  hoard.bytes = 0;
  if (path->after) path->after();
}

static void walk(const struct path* path, unsigned long long budget) {
  const unsigned long long at_first = truth_taken_bytes(&session.truth);
  const unsigned long long card_before = truth_card_used(&session.truth);
  if (path->before) path->before();
  CUresult code = CUDA_SUCCESS;
  // Tiny ones take long to fill a budget: first most of it by linear memory.
  CUdeviceptr filler = 0;
  const unsigned long long few = path->slack == MIB(2) && path->size < MIB(2) ? MIB(64) : 0;
  if (few) MUST(cu->cuMemAlloc_v2(&filler, budget - at_first - few));
  while (code == CUDA_SUCCESS && hoard.bytes < (few ? 4 * few : 2 * budget) && hoard.count < kMost)
    code = path->take(path->size);
  // NVML does not count managed memory as the process's: then the card is asked.
  const unsigned long long taken = path->take == take_touched ? at_first + truth_card_used(&session.truth) - card_before
                                                              : truth_taken_bytes(&session.truth);
  const unsigned long long told = told_bytes(&session);
  const int held = hoard.count;
  const int exact = taken <= budget && budget - taken <= path->slack && told >= taken && told - taken <= path->slack;
  give_all(path);
  if (filler) MUST(cu->cuMemFree_v2(filler));
  const unsigned long long at_end = truth_taken_bytes(&session.truth), told_at_end = told_bytes(&session);

  // And once more, as a program does that catches the error.
  if (path->before) path->before();
  const CUresult again = path->take(path->size);
  give_all(path);
  report(code == CUDA_ERROR_OUT_OF_MEMORY && exact && again == CUDA_SUCCESS && told_at_end == at_end, path->name,
         "code 2 within a request of the budget, all given back, goes on",
         "code %d at %.4f of the budget, books %+lld, %d held; afterwards books %+lld, then %d (%s)", code,
         (double)taken / (double)budget, (long long)(told - taken), held, (long long)(told_at_end - at_end), again,
         session.source);
}

int main(int argc, char** argv) {
  const unsigned long long budget = parse_bytes(argc, argv, 1, GIB(2));
  session = session_start();
  MUST(cu->cuStreamCreate(&stream, 1));
  look_around();
  for (size_t i = 0; i < sizeof kPaths / sizeof kPaths[0]; ++i) {
    if (argc > 2 && strcmp(argv[2], kPaths[i].name) != 0) continue;
    walk(&kPaths[i], budget);
  }
  return report_failures != 0;
}
