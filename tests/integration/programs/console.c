/* Calls the driver as its standard input says, a call a line, and prints what came back: the command, the code, the
 * outputs. Addresses are not printed, so that two runs can be compared. Usage: console [WAY] */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/programs/driver_api.h"
#include "tests/integration/programs/proc_state.h"

enum { kMost = 1 << 18, kMostContexts = 64, kWords = 6 };

static struct driver cu;
static CUdeviceptr slots[kMost]; /* what was allocated, in order */
static int slot_count;
static CUcontext contexts[kMostContexts];
static int context_count;

struct words {
  int count;
  char* word[kWords];
};

static unsigned long long number(const struct words* words, int i) {
  return i < words->count ? strtoull(words->word[i], NULL, 0) : 0;
}

static int is(const struct words* words, const char* name) { return strcmp(words->word[0], name) == 0; }

/* One allocation; words 1 and following are the sizes. */
static CUresult allocate(const char* what, const struct words* words, int first, CUdeviceptr* address, size_t* pitch) {
  const unsigned long long bytes = number(words, first);
  *pitch = 0;
  *address = 0;
  if (strcmp(what, "alloc_v2") == 0) return cu.cuMemAlloc_v2(address, bytes);
  if (strcmp(what, "managed") == 0) return cu.cuMemAllocManaged(address, bytes, 1);
  if (strcmp(what, "pitch_v2") == 0)
    return cu.cuMemAllocPitch_v2(address, pitch, bytes, number(words, first + 1), (unsigned)number(words, first + 2));
  CUdeviceptr_v1 low = 0;
  unsigned low_pitch = 0;
  CUresult code = 999;
  if (strcmp(what, "alloc") == 0) code = cu.cuMemAlloc(&low, (unsigned)bytes);
  if (strcmp(what, "pitch") == 0)
    code = cu.cuMemAllocPitch(&low, &low_pitch, (unsigned)bytes, (unsigned)number(words, first + 1),
                              (unsigned)number(words, first + 2));
  *address = low;
  *pitch = low_pitch;
  return code;
}

static CUresult free_slot(CUdeviceptr address) {
  return address >> 32 ? cu.cuMemFree_v2(address) : cu.cuMemFree((CUdeviceptr_v1)address);
}

static int keep(CUdeviceptr address) {
  if (slot_count == kMost) abort();
  slots[slot_count] = address;
  return slot_count++;
}

static int allocations(const struct words* words) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  if (is(words, "alloc_v2") || is(words, "managed") || is(words, "alloc")) {
    const CUresult code = allocate(words->word[0], words, 1, &address, &pitch);
    printf("%s %d", words->word[0], code);
    if (code == 0) printf(" %d", keep(address));
  } else if (is(words, "pitch_v2") || is(words, "pitch")) {
    const CUresult code = allocate(words->word[0], words, 1, &address, &pitch);
    printf("%s %d", words->word[0], code);
    if (code == 0) printf(" %d %zu", keep(address), pitch);
  } else if (is(words, "fill")) { /* until the driver says no */
    int count = 0;
    CUresult code = 0;
    while ((code = allocate(words->word[1], words, 2, &address, &pitch)) == 0) {
      keep(address);
      ++count;
    }
    printf("fill %d %d", code, count);
  } else if (is(words, "free_all")) {
    CUresult worst = 0; /* and the slots are used anew */
    for (int i = 0; i < slot_count; ++i) {
      const CUresult code = free_slot(slots[i]);
      if (code) worst = code;
    }
    slot_count = 0;
    printf("free_all %d", worst);
  } else if (is(words, "free")) { /* SLOT [OFFSET] */
    printf("free %d", free_slot(slots[number(words, 1)] + number(words, 2)));
  } else if (is(words, "free_at")) {
    printf("free_at %d", cu.cuMemFree_v2(number(words, 1)));
  } else if (is(words, "free_async")) {
    printf("free_async %d", cu.cuMemFreeAsync(slots[number(words, 1)], NULL));
  } else {
    return 0;
  }
  return 1;
}

static int without_outputs(const struct words* words) {
  size_t pitch = 7, bytes = 7;
  CUdeviceptr address = 7;
  if (is(words, "alloc_null")) {
    printf("alloc_null %d %d", cu.cuMemAlloc_v2(NULL, number(words, 1)),
           cu.cuMemAlloc(NULL, (unsigned)number(words, 1)));
  } else if (is(words, "managed_null")) {
    printf("managed_null %d", cu.cuMemAllocManaged(NULL, number(words, 1), 1));
  } else if (is(words, "managed_flags")) {
    printf("managed_flags %d", cu.cuMemAllocManaged(&address, 1024, (unsigned)number(words, 1)));
  } else if (is(words, "pitch_null")) {
    printf("pitch_null %d", cu.cuMemAllocPitch_v2(NULL, &pitch, 64, 64, 4));
    printf(" %d", cu.cuMemAllocPitch_v2(&address, NULL, 64, 64, 4));
    printf(" %d", cu.cuMemAllocPitch_v2(NULL, NULL, 64, 64, 4));
  } else if (is(words, "info_null")) { /* codes, and whether the one output was written */
    printf("info_null %d", cu.cuMemGetInfo_v2(NULL, &bytes));
    printf(" %d", bytes != 7);
    bytes = 7;
    printf(" %d", cu.cuMemGetInfo_v2(&bytes, NULL));
    printf(" %d %d", bytes != 7, cu.cuMemGetInfo_v2(NULL, NULL));
  } else if (is(words, "total_of_info")) { /* by itself */
    printf("total_of_info %d", cu.cuMemGetInfo_v2(NULL, &bytes));
    printf(" %zu", bytes);
  } else if (is(words, "free_of_info")) {
    printf("free_of_info %d", cu.cuMemGetInfo_v2(&bytes, NULL));
    printf(" %zu", bytes);
  } else if (is(words, "total_null")) {
    printf("total_null %d", cu.cuDeviceTotalMem_v2(NULL, (CUdevice)number(words, 1)));
  } else if (is(words, "context_null")) {
    printf("context_null %d %d", cu.cuCtxCreate_v2(NULL, 0, 0), cu.cuDevicePrimaryCtxRetain(NULL, 0));
  } else if (is(words, "outputs_kept")) { /* what a refused call leaves in the outputs */
    CUresult code = cu.cuMemAlloc_v2(&address, number(words, 1));
    printf("outputs_kept %d %d", code, address == 7);
    code = cu.cuMemAllocPitch_v2(&address, &pitch, number(words, 1), 1, 4);
    printf(" %d %d %d", code, address == 7, pitch == 7);
    code = cu.cuMemAllocManaged(&address, number(words, 1), 1);
    printf(" %d %d", code, address == 7);
  } else {
    return 0;
  }
  return 1;
}

static int context_calls(const struct words* words) {
  const CUdevice device = (CUdevice)number(words, 1);
  CUcontext context = NULL;
  if (is(words, "retain")) { /* and makes it current */
    const CUresult code = cu.cuDevicePrimaryCtxRetain(&context, device);
    printf("retain %d", code);
    if (code == 0) printf(" %d", cu.cuCtxSetCurrent(context));
  } else if (is(words, "create") || is(words, "create_v1") || is(words, "create_v3") || is(words, "create_v4")) {
    const CUresult code = is(words, "create_v1")   ? cu.cuCtxCreate(&context, 0, device)
                          : is(words, "create_v3") ? cu.cuCtxCreate_v3(&context, NULL, 0, 0, device)
                          : is(words, "create_v4") ? cu.cuCtxCreate_v4(&context, NULL, 0, device)
                                                   : cu.cuCtxCreate_v2(&context, 0, device);
    printf("%s %d", words->word[0], code);
    if (code == 0) printf(" %d", context_count);
    if (code == 0 && context_count < kMostContexts) contexts[context_count++] = context;
  } else if (is(words, "destroy")) {
    printf("destroy %d", cu.cuCtxDestroy_v2(contexts[device]));
  } else if (is(words, "destroy_v1")) {
    printf("destroy_v1 %d", cu.cuCtxDestroy(contexts[device]));
  } else if (is(words, "current")) { /* index of a created context, or none */
    printf("current %d", cu.cuCtxSetCurrent(strcmp(words->word[1], "none") == 0 ? NULL : contexts[device]));
  } else if (is(words, "release")) {
    printf("release %d", cu.cuDevicePrimaryCtxRelease_v2(device));
  } else if (is(words, "release_v1")) {
    printf("release_v1 %d", cu.cuDevicePrimaryCtxRelease(device));
  } else if (is(words, "reset")) {
    printf("reset %d", cu.cuDevicePrimaryCtxReset_v2(device));
  } else if (is(words, "reset_v1")) {
    printf("reset_v1 %d", cu.cuDevicePrimaryCtxReset(device));
  } else {
    return 0;
  }
  return 1;
}

static int questions(const struct words* words) {
  const CUdevice device = (CUdevice)number(words, 1);
  size_t free_bytes = 0, total_bytes = 0;
  unsigned low_free = 0, low_total = 0;
  if (is(words, "init")) {
    printf("init %d", cu.cuInit((unsigned)device));
  } else if (is(words, "count")) {
    int count = 0;
    const CUresult code = cu.cuDeviceGetCount(&count);
    printf("count %d %d", code, count);
  } else if (is(words, "info")) {
    const CUresult code = cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    printf("info %d %zu %zu", code, free_bytes, total_bytes);
  } else if (is(words, "info_v1")) {
    const CUresult code = cu.cuMemGetInfo(&low_free, &low_total);
    printf("info_v1 %d %u %u", code, low_free, low_total);
  } else if (is(words, "total")) {
    const CUresult code = cu.cuDeviceTotalMem_v2(&total_bytes, device);
    printf("total %d %zu", code, total_bytes);
  } else if (is(words, "total_v1")) {
    const CUresult code = cu.cuDeviceTotalMem(&low_total, device);
    printf("total_v1 %d %u", code, low_total);
  } else if (is(words, "device")) {
    CUdevice current = -1;
    const CUresult code = cu.cuCtxGetDevice(&current);
    printf("device %d %d", code, current);
  } else if (is(words, "set")) { /* SLOT BYTES: really writes there */
    printf("set %d", cu.cuMemsetD8_v2(slots[number(words, 1)], 1, number(words, 2)));
  } else if (is(words, "fork")) { /* the child asks for the rest of the words as one command */
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      CUdeviceptr address = 0;
      const CUresult init = cu.cuInit(0), allocated = cu.cuMemAlloc_v2(&address, 1024);
      const CUresult info = cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
      printf("child %d %d %d\n", init, allocated, info);
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("fork %d", status);
  } else if (is(words, "identity")) {
    CUuuid uuid = {{0}};
    char pci[32] = "";
    const CUresult code = cu.cuDeviceGetUuid(&uuid, device);
    cu.cuDeviceGetPCIBusId(pci, sizeof pci, device);
    printf("identity %d %s GPU", code, pci);
    for (int i = 0; i < 16; ++i)
      printf("%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid.bytes[i]);
  } else if (is(words, "where")) { /* WAY SYMBOL */
    printf("where");
    print_place(find_function(words->word[1], words->word[2]));
  } else if (is(words, "maps")) {
    printf("maps %d", maps_contain(words->word[1]));
  } else if (is(words, "threads")) {
    printf("threads %d", thread_count());
  } else if (is(words, "sleep_ms")) {
    usleep((unsigned)number(words, 1) * 1000);
    printf("sleep_ms");
  } else if (is(words, "pid")) {
    printf("pid %d", getpid());
  } else if (is(words, "kill")) {
    kill(getpid(), device);
  } else if (is(words, "exit")) {
    exit((int)number(words, 1));
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
    if (!allocations(&words) && !without_outputs(&words) && !context_calls(&words) && !questions(&words)) {
      fprintf(stderr, "no command %s\n", words.word[0]);
      return 2;
    }
    printf("\n");
  }
  return 0;
}
