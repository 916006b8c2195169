/* Runs short of memory as its standard input says, a command a line, and prints what came back: the command, the code,
 * the outputs. Other threads are there when asked for. Usage: short_memory */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

enum { kMost = 256, kWords = 4 };

static struct driver cu;
static unsigned long long slots[kMost]; /* what was taken, in order: addresses and handles */
static int slot_count;
static volatile sig_atomic_t signals;

struct later {
  unsigned long long address;
  unsigned ms;
};

static void count_signal(int number) {
  (void)number;
  signals = signals + 1;
}

static void* idle(void* unused) {
  pause();
  return unused;
}

static void* free_later(void* argument) {
  const struct later later = *(struct later*)argument;
  free(argument);
  usleep(later.ms * 1000);
  must(cu.cuMemFree_v2(later.address) == 0, "cuMemFree_v2");
  return NULL;
}

static void* ask_alone(void* argument) {
  CUdeviceptr address = 0;
  use_device(&cu, 0);
  cu.cuMemAlloc_v2(&address, *(size_t*)argument);
  return NULL;
}

static void start(void* (*run)(void*), void* argument) {
  pthread_t thread;
  must(pthread_create(&thread, NULL, run, argument) == 0, "pthread_create");
  pthread_detach(thread);
}

static void took(CUresult code, unsigned long long item) {
  printf("%d", code);
  if (code) return;
  must(slot_count < kMost, "a slot");
  slots[slot_count] = item;
  printf(" %d", slot_count++);
}

static int takes(const char* what, unsigned long long first, unsigned long long second) {
  unsigned long long item = 0;
  CUresult code = 0;
  if (strcmp(what, "linear") == 0) { /* MIB */
    code = cu.cuMemAlloc_v2(&item, first * kMiB);
    took(code, item);
  } else if (strcmp(what, "pitch") == 0) { /* WIDTH HEIGHT */
    size_t pitch = 0;
    code = cu.cuMemAllocPitch_v2(&item, &pitch, first, second, 4);
    took(code, item);
    printf(" %zu", pitch);
  } else if (strcmp(what, "create") == 0) { /* MIB */
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = 1;
    prop.location.type = 1;
    code = cu.cuMemCreate(&item, first * kMiB, &prop, 0);
    took(code, item);
  } else if (strcmp(what, "async") == 0) { /* MIB */
    code = cu.cuMemAllocAsync(&item, first * kMiB, NULL);
    took(code, item);
  } else if (strcmp(what, "captured") == 0) { /* MIB: while this thread captures, in relaxed mode */
    CUstream stream = NULL;
    CUgraph graph = NULL;
    must(cu.cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");
    must(cu.cuStreamBeginCapture_v2(stream, 2) == 0, "cuStreamBeginCapture_v2");
    code = cu.cuMemAlloc_v2(&item, first * kMiB);
    must(cu.cuStreamEndCapture(stream, &graph) == 0, "cuStreamEndCapture");
    took(code, item);
  } else {
    return 0;
  }
  return 1;
}

static void does(const char* what, const char* text, unsigned long long first, unsigned long long second) {
  size_t free_bytes = 0, total_bytes = 0;
  if (strcmp(what, "init") == 0) {
    printf("%d", cu.cuInit(0));
  } else if (strcmp(what, "device") == 0) { /* ORDINAL */
    use_device(&cu, (CUdevice)first);
  } else if (strcmp(what, "context") == 0) { /* ORDINAL: one more, current from now on */
    CUcontext context = NULL;
    printf("%d", cu.cuCtxCreate_v2(&context, 0, (CUdevice)first));
  } else if (strcmp(what, "retain") == 0) { /* ORDINAL: the primary context */
    CUcontext context = NULL;
    printf("%d", cu.cuDevicePrimaryCtxRetain(&context, (CUdevice)first));
  } else if (strcmp(what, "reset") == 0) {
    printf("%d", cu.cuDevicePrimaryCtxReset_v2(0));
  } else if (strcmp(what, "free") == 0) { /* SLOT */
    printf("%d", cu.cuMemFree_v2(slots[first]));
  } else if (strcmp(what, "free_async") == 0) { /* SLOT */
    printf("%d", cu.cuMemFreeAsync(slots[first], NULL));
    printf(" %d", cu.cuStreamSynchronize(NULL));
  } else if (strcmp(what, "set") == 0) { /* SLOT MIB */
    printf("%d", cu.cuMemsetD8_v2(slots[first], 1, second * kMiB));
  } else if (strcmp(what, "free_later") == 0) { /* SLOT MS: by another thread */
    struct later* later = malloc(sizeof *later);
    *later = (struct later){slots[first], (unsigned)second};
    start(free_later, later);
  } else if (strcmp(what, "idle") == 0) { /* another thread that could free something */
    start(idle, NULL);
  } else if (strcmp(what, "ask_alone") == 0) { /* MIB: another thread asks, and may wait for it */
    static size_t bytes;
    bytes = first * kMiB;
    start(ask_alone, &bytes);
    usleep(50 * 1000);
  } else if (strcmp(what, "map") == 0) { /* FILE: as the loader maps a library */
    const int fd = open(text, O_RDONLY);
    must(fd >= 0 && mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mmap");
    close(fd);
  } else if (strcmp(what, "handle") == 0) { /* SIGNAL */
    signal((int)first, count_signal);
  } else if (strcmp(what, "signals") == 0) {
    printf("%d", (int)signals);
  } else if (strcmp(what, "fork") == 0) { /* a child that ends at once */
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(0);
    int status = 1;
    waitpid(child, &status, 0);
    printf("%d", status);
  } else if (strcmp(what, "info") == 0) { /* free and total, in MiB */
    const CUresult code = cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    printf("%d %zu %zu", code, free_bytes >> 20, total_bytes >> 20);
  } else if (strcmp(what, "books") == 0) { /* used by the books and by NVML with the sentinel, in MiB */
    cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    printf("%zu %llu", (total_bytes - free_bytes) >> 20, nvml_bytes(0) >> 20);
  } else {
    fprintf(stderr, "no command %s\n", what);
    exit(2);
  }
}

int main(void) {
  char line[256];
  setvbuf(stdout, NULL, _IOLBF, 0);
  cu = find_driver("dlsym");
  while (fgets(line, sizeof line, stdin)) {
    char* word[kWords] = {"", "", "", ""};
    int count = 0;
    for (char* next = strtok(line, " \n"); next && count < kWords; next = strtok(NULL, " \n")) word[count++] = next;
    const unsigned long long first = strtoull(word[1], NULL, 0), second = strtoull(word[2], NULL, 0);
    printf("%s ", word[0]);
    if (!takes(word[0], first, second)) does(word[0], word[1], first, second);
    printf("\n");
  }
  return 0;
}
