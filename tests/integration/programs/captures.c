/* Captures streams in two threads, as its standard input says, a command a line: THREAD COMMAND [ARGUMENT], the threads
 * being a and b. Prints the line's first two words and the code. Usage: captures */
#include <pthread.h>
#include <string.h>

#include "tests/integration/programs/guest.h"

static struct driver cu;
static CUstream stream; /* what both threads capture, unless they are told to take their default streams */

static CUresult in_own_context(int begin) {
  static CUcontext context;
  CUstream inner = NULL;
  if (!begin) return cu.cuCtxDestroy_v2(context);
  CUresult code = cu.cuCtxCreate_v2(&context, 0, 0);
  if (code == 0) code = cu.cuStreamCreate(&inner, 1);
  return code == 0 ? cu.cuStreamBeginCapture_v2(inner, 2) : code;
}

static CUresult run(const char* what, unsigned long long number) {
  CUdeviceptr address = 0;
  CUgraph graph = NULL;
  CUstreamCaptureMode mode = (CUstreamCaptureMode)number;
  if (strcmp(what, "ask") == 0) return cu.cuMemAlloc_v2(&address, number * kMiB);
  if (strcmp(what, "begin") == 0) return cu.cuStreamBeginCapture_v2(stream, mode);
  if (strcmp(what, "begin_own") == 0) return cu.cuStreamBeginCapture_v2_ptsz(NULL, mode);
  if (strcmp(what, "begin_inner") == 0) return in_own_context(1);
  if (strcmp(what, "end_inner") == 0) return in_own_context(0);
  if (strcmp(what, "end") == 0) return cu.cuStreamEndCapture(stream, &graph);
  if (strcmp(what, "end_own") == 0) return cu.cuStreamEndCapture((CUstream)2, &graph); /* the same stream */
  if (strcmp(what, "stream") == 0) return cu.cuStreamCreate(&stream, 1);
  if (strcmp(what, "end_stream") == 0) return cu.cuStreamDestroy_v2(stream);
  if (strcmp(what, "reset") == 0) return cu.cuDevicePrimaryCtxReset_v2(0);
  if (strcmp(what, "device") == 0) {
    use_device(&cu, 0);
    return 0;
  }
  if (strcmp(what, "begin_to_graph") == 0) {
    must(cu.cuGraphCreate(&graph, 0) == 0, "cuGraphCreate");
    return cu.cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, mode);
  }
  if (strcmp(what, "exchange") == 0) {
    CUresult (*exchange)(CUstreamCaptureMode*);
    *(void**)&exchange = find_function("dlsym", "cuThreadExchangeStreamCaptureMode");
    return exchange(&mode);
  }
  fprintf(stderr, "no command %s\n", what);
  exit(2);
}

/* One command at a time, run by the thread that it names. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char owner; /* of the command; 0: it is done */
static char command[32];
static unsigned long long argument;
static CUresult answer;

static void* serve(void* name) {
  use_device(&cu, 0);
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (owner != *(const char*)name) pthread_cond_wait(&changed, &mutex);
    answer = run(command, argument);
    owner = 0;
    pthread_cond_broadcast(&changed);
  }
  return NULL;
}

int main(void) {
  char line[256], name;
  pthread_t thread;
  setvbuf(stdout, NULL, _IOLBF, 0);
  cu = start_cuda();
  must(cu.cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");
  must(pthread_create(&thread, NULL, serve, "a") == 0 && pthread_create(&thread, NULL, serve, "b") == 0, "threads");
  pthread_mutex_lock(&mutex);
  while (fgets(line, sizeof line, stdin)) {
    must(sscanf(line, "%c %31s %llu", &name, command, &argument) >= 2, "a command");
    owner = name;
    pthread_cond_broadcast(&changed);
    while (owner != 0) pthread_cond_wait(&changed, &mutex);
    printf("%c %s %d\n", name, command, answer);
  }
  return 0;
}
