// Random calls of every family from several threads; whenever all of them quiet, the guard's books of each device must
// be the driver's own numbers, to the byte. Small arrays share pages that nobody shows: with them the books are never
// below the truth, and at most a page for each live one above it. On two devices each thread has one as its home; the
// current context, the stream, and the device that a call names are each, by a chance of a quarter, the other one's.
// mixed OPERATIONS THREADS [SMALL_ARRAYS: 0 leaves them out] [DEVICES]
#include <pthread.h>

#include "kinds.h"

enum { kMostThreads = 16, kMostDevices = 2, kSlots = 24, kRounds = 10 };
enum kind { kNothing, kLinear, kPitched, kPooled, kOwnPooled, kHandle, kMapping, kArray, kMipmaps, kGraph, kKinds };

struct slot {
  enum kind kind;
  unsigned long long item, bytes;
  CUstream stream;  // that may free it
};

struct worker {
  pthread_t thread;
  struct slot slots[kSlots];
  unsigned long long random;
  int home, current;
  CUstream streams[kMostDevices];
  CUmemoryPool pools[kMostDevices];
  unsigned admitted, refused, other;
};

// What the quiet points found.
struct tally {
  int looks, right;
  long long worst;
};

static struct session sessions[kMostDevices];
static struct worker workers[kMostThreads];
static int thread_count, device_count, operations_a_round, small_arrays, peers;
static pthread_barrier_t quiet;

#define cu (&sessions[0].cu)

static int some_device(struct worker* worker) {
  if (device_count == 1 || next_random(&worker->random) % 4) return worker->home;
  return 1 - worker->home;
}

// What a call names beside the current context. Devices that do not see each other are not mixed within a call.
static int named_device(struct worker* worker) { return peers ? some_device(worker) : worker->current; }

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
static CUresult run_graph(const struct session* session, CUstream stream, unsigned long long bytes) {
  CUgraphNode node = NULL, end = NULL;
  CUgraphExec exec = NULL;
  CUdeviceptr address = 0;
  CUgraph graph = make_graph(session, bytes, &address, &node);
  MUST(cu->cuGraphAddMemFreeNode(&end, graph, &node, 1, address));
  MUST(cu->cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUresult code = cu->cuGraphLaunch(exec, stream);
  if (code == CUDA_SUCCESS) code = cu->cuGraphLaunch(exec, stream);
  MUST(cu->cuStreamSynchronize(stream));
  MUST(cu->cuGraphExecDestroy(exec));
  MUST(cu->cuGraphDestroy(graph));
  return code;
}

// What names no device lands on that of the current context.
static CUresult take(struct worker* worker, struct slot* slot) {
  const int named = named_device(worker);
  const struct session* session = &sessions[named];
  const unsigned long long any = random_bytes(&worker->random, MIB(24));
  const CUmemAllocationProp prop = on_device(session);
  CUdeviceptr address = 0;
  size_t pitch = 0;
  CUresult code;
  slot->bytes = (any + MIB(2) - 1) / MIB(2) * MIB(2);
  slot->stream = worker->streams[named_device(worker)];
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
      code = cu->cuMemAllocAsync(&address, any, slot->stream);
      slot->item = address;
      return code;
    case kOwnPooled:
      code = cu->cuMemAllocFromPoolAsync(&address, any, worker->pools[named], slot->stream);
      slot->item = address;
      return code;
    case kHandle:
      return cu->cuMemCreate(&slot->item, slot->bytes, &prop, 0);
    case kMapping:
      return map_memory(session, slot->bytes, &slot->item);
    case kArray:
      return take_array(worker, slot, 0);
    case kMipmaps:
      return take_array(worker, slot, 4);
    case kGraph:
      code = run_graph(session, slot->stream, any);
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
                                            : cu->cuMemFreeAsync(slot->item, slot->stream));
      break;
    case kPooled:
    case kOwnPooled:
      MUST(next_random(&worker->random) % 4 ? cu->cuMemFreeAsync(slot->item, slot->stream)
                                            : cu->cuMemFree_v2(slot->item));
      break;
    case kHandle:
      MUST(cu->cuMemRelease(slot->item));
      break;
    case kMapping:
      unmap_memory(&sessions[0], slot->item, slot->bytes);
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
  worker->current = some_device(worker);
  MUST(cu->cuCtxSetCurrent(sessions[worker->current].context));
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

static void wait_for_streams(struct worker* worker) {
  for (int i = 0; i < device_count; ++i) MUST(cu->cuStreamSynchronize(worker->streams[i]));
}

static void* work(void* argument) {
  struct worker* worker = argument;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < operations_a_round; ++i) one_call(worker);
    wait_for_streams(worker);
    pthread_barrier_wait(&quiet);  // the main thread looks
    pthread_barrier_wait(&quiet);
  }
  for (int i = 0; i < kSlots; ++i) give(worker, &worker->slots[i]);
  wait_for_streams(worker);
  return NULL;
}

static void start(struct worker* worker, int number) {
  memset(worker, 0, sizeof *worker);
  worker->random = 88172645463325252ULL + 7919ULL * (unsigned)number;
  worker->home = number % device_count;
  for (int i = 0; i < device_count; ++i) {
    MUST(cu->cuCtxSetCurrent(sessions[i].context));
    worker->pools[i] = make_pool(&sessions[i]);
    MUST(cu->cuStreamCreate(&worker->streams[i], 1));
  }
}

static void end(struct worker* worker) {
  for (int i = 0; i < device_count; ++i) {
    MUST(cu->cuMemPoolDestroy(worker->pools[i]));
    MUST(cu->cuStreamDestroy_v2(worker->streams[i]));
  }
}

// Holds the books of each device against its truth.
static void look(struct tally* tally) {
  const long long most = small_arrays ? (long long)MIB(2) * kSlots * thread_count : 0;
  look_around();
  for (int i = 0; i < device_count; ++i) {
    MUST(cu->cuCtxSetCurrent(sessions[i].context));
    const long long difference = (long long)(told_bytes(&sessions[i]) - truth_taken_bytes(&sessions[i].truth));
    ++tally->looks;
    tally->right += difference >= 0 && difference <= most;
    if (llabs(difference) > llabs(tally->worst)) tally->worst = difference;
  }
}

static void start_sessions(void) {
  for (int i = 0; i < device_count; ++i) sessions[i] = session_start_on(i);
  peers = device_count > 1;
  for (int i = 0; i < device_count && device_count > 1; ++i) {
    int can = 0;
    MUST(cu->cuDeviceCanAccessPeer(&can, sessions[i].device, sessions[1 - i].device));
    peers &= can;
  }
}

int main(int argc, char** argv) {
  const unsigned long long operations = parse_bytes(argc, argv, 1, 20000);
  thread_count = (int)parse_bytes(argc, argv, 2, 1);
  small_arrays = (int)parse_bytes(argc, argv, 3, 1);
  device_count = (int)parse_bytes(argc, argv, 4, 1);
  if (thread_count < 1 || thread_count > kMostThreads || device_count < 1 || device_count > kMostDevices) return 2;
  operations_a_round = (int)(operations / kRounds / (unsigned)thread_count);
  start_sessions();
  for (int i = 0; i < thread_count; ++i) start(&workers[i], i);
  pthread_barrier_init(&quiet, NULL, (unsigned)thread_count + 1);
  for (int i = 0; i < thread_count; ++i) pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  struct tally busy = {0, 0, 0}, left = {0, 0, 0};
  for (int round = 0; round < kRounds; ++round) {
    pthread_barrier_wait(&quiet);
    look(&busy);
    pthread_barrier_wait(&quiet);
  }
  unsigned admitted = 0, refused = 0, other = 0;
  for (int i = 0; i < thread_count; ++i) {
    pthread_join(workers[i].thread, NULL);
    admitted += workers[i].admitted;
    refused += workers[i].refused;
    other += workers[i].other;
    end(&workers[i]);
  }
  for (int i = 0; i < device_count; ++i) MUST(cu->cuDeviceGraphMemTrim(sessions[i].device));
  look(&left);
  char name[80];
  snprintf(name, sizeof name, "all families%s, %d thread%s%s", small_arrays ? ", small arrays" : "", thread_count,
           thread_count == 1 ? "" : "s", device_count == 1 ? "" : ", 2 devices");
  report(busy.right == busy.looks && left.right == left.looks && other == 0 && refused > 0, name,
         small_arrays ? "never below the truth" : "0 bytes at every quiet point",
         "right in %d of %d, worst %+lld, at the end %+lld; %u admitted, %u refused, %u other codes (%s)", busy.right,
         busy.looks, busy.worst, left.worst, admitted, refused, other, sessions[0].source);
  return report_failures != 0;
}
