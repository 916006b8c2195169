// Random calls of every family from several threads; whenever all of them quiet, the guard's books must be the driver's
// own numbers, to the byte. Small arrays share pages that nobody shows: with them the books are never below the truth,
// and at most a page for each live one above it. mixed OPERATIONS THREADS [SMALL_ARRAYS: 0 leaves them out]
#include <pthread.h>

#include "kinds.h"

enum { kMostThreads = 16, kSlots = 24, kRounds = 10 };
enum kind { kNothing, kLinear, kPitched, kPooled, kOwnPooled, kHandle, kMapping, kArray, kMipmaps, kGraph, kKinds };

struct slot {
  enum kind kind;
  unsigned long long item, bytes;
};

struct worker {
  pthread_t thread;
  struct slot slots[kSlots];
  unsigned long long random;
  CUstream stream;
  CUmemoryPool pool;
  unsigned admitted, refused, other;
};

static struct session session;
static struct worker workers[kMostThreads];
static int thread_count, operations_a_round, small_arrays;
static pthread_barrier_t quiet;

#define cu (&session.cu)

static CUresult take_array(struct worker* worker, struct slot* slot, int levels) {
  const size_t most = small_arrays ? 700 : 500;
  const size_t least = small_arrays ? 0 : 1100;  // 4 bytes each: over 1 MiB
  CUDA_ARRAY3D_DESCRIPTOR shape = {
      1 + least + next_random(&worker->random) % most, 1 + least + next_random(&worker->random) % most, 0, 0x20, 1, 0};
  CUarray array = NULL;
  CUmipmappedArray mipmaps = NULL;
  const CUresult code =
      levels ? cu->cuMipmappedArrayCreate(&mipmaps, &shape, levels) : cu->cuArray3DCreate_v2(&array, &shape);
  slot->item = levels ? (unsigned long long)mipmaps : (unsigned long long)array;
  return code;
}

// A graph that allocates and frees, launched twice: its memory stays until it is trimmed.
static CUresult run_graph(struct worker* worker, unsigned long long bytes) {
  CUgraphNode node = NULL, end = NULL;
  CUgraphExec exec = NULL;
  CUdeviceptr address = 0;
  CUgraph graph = make_graph(&session, bytes, &address, &node);
  MUST(cu->cuGraphAddMemFreeNode(&end, graph, &node, 1, address));
  MUST(cu->cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUresult code = cu->cuGraphLaunch(exec, worker->stream);
  if (code == CUDA_SUCCESS) code = cu->cuGraphLaunch(exec, worker->stream);
  MUST(cu->cuStreamSynchronize(worker->stream));
  MUST(cu->cuGraphExecDestroy(exec));
  MUST(cu->cuGraphDestroy(graph));
  return code;
}

static CUresult take(struct worker* worker, struct slot* slot) {
  const unsigned long long any = random_bytes(&worker->random, MIB(24));
  const CUmemAllocationProp prop = on_device(&session);
  CUdeviceptr address = 0;
  size_t pitch = 0;
  CUresult code;
  slot->bytes = (any + MIB(2) - 1) / MIB(2) * MIB(2);
  switch (slot->kind) {
    case kLinear:
      code = cu->cuMemAlloc_v2(&address, any);
      slot->item = address;
      return code;
    case kPitched:
      code = cu->cuMemAllocPitch_v2(&address, &pitch, 1 + any % 5000, 1 + any % 900, 4);
      slot->item = address;
      return code;
    case kPooled:
      code = cu->cuMemAllocAsync(&address, any, worker->stream);
      slot->item = address;
      return code;
    case kOwnPooled:
      code = cu->cuMemAllocFromPoolAsync(&address, any, worker->pool, worker->stream);
      slot->item = address;
      return code;
    case kHandle:
      return cu->cuMemCreate(&slot->item, slot->bytes, &prop, 0);
    case kMapping:
      return map_memory(&session, slot->bytes, &slot->item);
    case kArray:
      return take_array(worker, slot, 0);
    case kMipmaps:
      return take_array(worker, slot, 4);
    case kGraph:
      code = run_graph(worker, any);
      slot->kind = kNothing;
      return code;
    default:
      return CUDA_SUCCESS;
  }
}

static void give(struct worker* worker, struct slot* slot) {
  switch (slot->kind) {
    case kLinear:
    case kPitched:
      MUST(next_random(&worker->random) % 4 ? cu->cuMemFree_v2(slot->item)
                                            : cu->cuMemFreeAsync(slot->item, worker->stream));
      break;
    case kPooled:
    case kOwnPooled:
      MUST(next_random(&worker->random) % 4 ? cu->cuMemFreeAsync(slot->item, worker->stream)
                                            : cu->cuMemFree_v2(slot->item));
      break;
    case kHandle:
      MUST(cu->cuMemRelease(slot->item));
      break;
    case kMapping:
      unmap_memory(&session, slot->item, slot->bytes);
      break;
    case kArray:
      MUST(cu->cuArrayDestroy((CUarray)slot->item));
      break;
    case kMipmaps:
      MUST(cu->cuMipmappedArrayDestroy((CUmipmappedArray)slot->item));
      break;
    default:
      break;
  }
  slot->kind = kNothing;
}

static void one_call(struct worker* worker) {
  struct slot* slot = &worker->slots[next_random(&worker->random) % kSlots];
  if (slot->kind != kNothing) {
    give(worker, slot);
    return;
  }
  slot->kind = 1 + next_random(&worker->random) % (kKinds - 1);
  if (slot->kind == kGraph && next_random(&worker->random) % 8) slot->kind = kLinear;
  const CUresult code = take(worker, slot);
  if (code == CUDA_SUCCESS) {
    ++worker->admitted;
    return;
  }
  slot->kind = kNothing;
  if (code == CUDA_ERROR_OUT_OF_MEMORY)
    ++worker->refused;
  else
    ++worker->other;
}

static void* work(void* argument) {
  struct worker* worker = argument;
  MUST(cu->cuCtxSetCurrent(session.context));
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < operations_a_round; ++i) one_call(worker);
    MUST(cu->cuStreamSynchronize(worker->stream));
    pthread_barrier_wait(&quiet);  // the main thread looks
    pthread_barrier_wait(&quiet);
  }
  for (int i = 0; i < kSlots; ++i) give(worker, &worker->slots[i]);
  MUST(cu->cuStreamSynchronize(worker->stream));
  return NULL;
}

static void start(struct worker* worker, int number) {
  memset(worker, 0, sizeof *worker);
  worker->random = 88172645463325252ULL + 7919ULL * (unsigned)number;
  worker->pool = make_pool(&session);
  MUST(cu->cuStreamCreate(&worker->stream, 1));
}

int main(int argc, char** argv) {
  const unsigned long long operations = parse_bytes(argc, argv, 1, 20000);
  thread_count = (int)parse_bytes(argc, argv, 2, 1);
  small_arrays = (int)parse_bytes(argc, argv, 3, 1);
  if (thread_count < 1 || thread_count > kMostThreads) return 2;
  operations_a_round = (int)(operations / kRounds / (unsigned)thread_count);
  session = session_start();
  for (int i = 0; i < thread_count; ++i) start(&workers[i], i);
  pthread_barrier_init(&quiet, NULL, (unsigned)thread_count + 1);
  for (int i = 0; i < thread_count; ++i) pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  int equal = 0;
  long long worst = 0;
  const long long most = small_arrays ? (long long)MIB(2) * kSlots * thread_count : 0;
  for (int round = 0; round < kRounds; ++round) {
    pthread_barrier_wait(&quiet);
    look_around();
    const long long difference = (long long)(told_bytes(&session) - truth_taken_bytes(&session.truth));
    equal += difference >= 0 && difference <= most;
    if (difference != 0) worst = difference;
    pthread_barrier_wait(&quiet);
  }
  unsigned admitted = 0, refused = 0, other = 0;
  for (int i = 0; i < thread_count; ++i) {
    pthread_join(workers[i].thread, NULL);
    admitted += workers[i].admitted;
    refused += workers[i].refused;
    other += workers[i].other;
    MUST(cu->cuMemPoolDestroy(workers[i].pool));
    MUST(cu->cuStreamDestroy_v2(workers[i].stream));
  }
  MUST(cu->cuDeviceGraphMemTrim(session.device));
  look_around();
  const long long left = (long long)(told_bytes(&session) - truth_taken_bytes(&session.truth));
  char name[64];
  snprintf(name, sizeof name, "all families%s, %d thread%s", small_arrays ? ", small arrays" : "", thread_count,
           thread_count == 1 ? "" : "s");
  report(equal == kRounds && other == 0 && refused > 0 && left >= 0 && left <= most, name,
         small_arrays ? "never below the truth" : "0 bytes at every quiet point",
         "right in %d of %d, worst %+lld, at the end %+lld; %u admitted, %u refused, %u other codes (%s)", equal,
         kRounds, worst, left, admitted, refused, other, session.source);
  return report_failures != 0;
}
