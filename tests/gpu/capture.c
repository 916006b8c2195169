// Memory calls while a stream is capturing. Prints every code: the same with the guard as without it.
#include "session.h"

enum { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

static const char* const kModes[] = {"global", "thread-local", "relaxed"};

// More than any card and any budget has. Looked at only where the driver allows allocations at all: the refusal must
// leave the capture whole.
static const char kTooMuch[] = "cuMemAlloc of 4 TiB";

static void capture(const struct session* session, int mode, const char* call) {
  const struct driver* cu = &session->cu;
  CUstream stream = NULL;
  CUgraph graph = NULL;
  CUdeviceptr buffer = 0, extra = 0;
  size_t free_bytes = 0, total_bytes = 0;
  MUST(cu->cuStreamCreate(&stream, 1));
  MUST(cu->cuMemAlloc_v2(&buffer, MIB(4)));
  MUST(cu->cuStreamBeginCapture_v2(stream, mode));
  CUresult during = CUDA_SUCCESS;
  if (strcmp(call, "cuMemAlloc") == 0) during = cu->cuMemAlloc_v2(&extra, MIB(4));
  if (strcmp(call, kTooMuch) == 0) during = cu->cuMemAlloc_v2(&extra, 4ULL << 40);
  if (strcmp(call, "cuMemFree") == 0) during = cu->cuMemFree_v2(buffer);
  if (strcmp(call, "cuMemGetInfo") == 0) during = cu->cuMemGetInfo_v2(&free_bytes, &total_bytes);
  int freed = strcmp(call, "cuMemFree") == 0 && during == CUDA_SUCCESS;
  CUresult work = freed ? CUDA_SUCCESS : cu->cuMemsetD8Async(buffer, 1, MIB(4), stream);
  CUresult end = cu->cuStreamEndCapture(stream, &graph);
  printf("%s, %s: call %d, work %d, end %d, graph %s\n", kModes[mode], call, during, work, end, graph ? "yes" : "no");
  if (graph) cu->cuGraphDestroy(graph);
  if (extra && during == CUDA_SUCCESS) cu->cuMemFree_v2(extra);
  if (!freed) cu->cuMemFree_v2(buffer);
  cu->cuStreamDestroy_v2(stream);
}

int main(void) {
  static const char* const kCalls[] = {"nothing", "cuMemGetInfo", "cuMemAlloc", "cuMemFree"};
  struct session session = session_start();
  for (int mode = kGlobal; mode <= kRelaxed; ++mode) {
    for (size_t i = 0; i < sizeof kCalls / sizeof kCalls[0]; ++i) capture(&session, mode, kCalls[i]);
  }
  capture(&session, kRelaxed, kTooMuch);
  return 0;
}
