// Allocates until refused, reaching the driver by the way that is named, and prints what it saw as key=value.
// ways_in WAY [STOP_AT_BYTES]; WAY: linked, dlsym, dlvsym, default, proc1:VERSION, proc2:VERSION[:FLAGS], self:VERSION,
// plugin:PATH (a shared object made of this file with -DWAYS_PLUGIN, opened RTLD_LOCAL).
#define _GNU_SOURCE
#include "session.h"

enum { kChunk = 32 << 20 };

typedef CUresult (*proc_address_v1)(const char*, void**, int, unsigned long long);
typedef CUresult (*proc_address_v2)(const char*, void**, int, unsigned long long, int*);

struct functions {
  CUresult (*init)(unsigned);
  CUresult (*device_get)(CUdevice*, int);
  CUresult (*retain)(CUcontext*, CUdevice);
  CUresult (*set_current)(CUcontext);
  CUresult (*mem_alloc)(CUdeviceptr*, size_t);
  CUresult (*mem_free)(CUdeviceptr);
  CUresult (*mem_get_info)(size_t*, size_t*);
  CUresult (*total_mem)(size_t*, CUdevice);
};

// Exported name; its stem, which cuGetProcAddress takes.
static const char* const kNames[][2] = {
    {"cuInit", "cuInit"},
    {"cuDeviceGet", "cuDeviceGet"},
    {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain"},
    {"cuCtxSetCurrent", "cuCtxSetCurrent"},
    {"cuMemAlloc_v2", "cuMemAlloc"},
    {"cuMemFree_v2", "cuMemFree"},
    {"cuMemGetInfo_v2", "cuMemGetInfo"},
    {"cuDeviceTotalMem_v2", "cuDeviceTotalMem"},
};
enum { kNameCount = sizeof kNames / sizeof kNames[0] };

#ifdef WAYS_LINKED
CUresult cuInit(unsigned);
CUresult cuDeviceGet(CUdevice*, int);
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemGetInfo_v2(size_t*, size_t*);
CUresult cuDeviceTotalMem_v2(size_t*, CUdevice);
static const struct functions kLinked = {cuInit,        cuDeviceGet,  cuDevicePrimaryCtxRetain, cuCtxSetCurrent,
                                         cuMemAlloc_v2, cuMemFree_v2, cuMemGetInfo_v2,          cuDeviceTotalMem_v2};
#endif

static void* missing(const char* what) {
  printf("skip=%s\n", what);
  exit(0);
}

static void resolve(const char* way, void** slots) {
  int version = 0, flags = 0;
  if (strcmp(way, "default") == 0) {
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) missing("no driver");
    for (int i = 0; i < kNameCount; ++i) slots[i] = dlsym(RTLD_DEFAULT, kNames[i][0]);
    return;
  }
  void* handle = driver_handle();
  if (strcmp(way, "dlsym") == 0) {
    for (int i = 0; i < kNameCount; ++i) slots[i] = dlsym(handle, kNames[i][0]);
    return;
  }
  if (strcmp(way, "dlvsym") == 0) {
    // A library without symbol versions answers for any version.
    for (int i = 0; i < kNameCount; ++i) slots[i] = dlvsym(handle, kNames[i][0], "ANY");
    if (!slots[0]) missing("dlvsym does not find the driver's symbols");
    return;
  }
  if (sscanf(way, "proc1:%d:%d", &version, &flags) >= 1) {
    proc_address_v1 get;
    *(void**)&get = dlsym(handle, "cuGetProcAddress");
    if (!get) missing("no cuGetProcAddress");
    for (int i = 0; i < kNameCount; ++i) get(kNames[i][1], &slots[i], version, flags);
    return;
  }
  proc_address_v2 get;
  *(void**)&get = dlsym(handle, "cuGetProcAddress_v2");
  if (!get) missing("no cuGetProcAddress_v2");
  if (sscanf(way, "self:%d:%d", &version, &flags) >= 1) {
    // As the CUDA runtime does: ask the function for itself, then go on with what it gave.
    void* itself = NULL;
    get("cuGetProcAddress", &itself, version, 0, NULL);
    if (!itself) missing("cuGetProcAddress does not give itself");
    for (int i = 0; i < kNameCount; ++i) {
      if (version < 12000) {
        ((proc_address_v1)itself)(kNames[i][1], &slots[i], version, flags);
      } else {
        ((proc_address_v2)itself)(kNames[i][1], &slots[i], version, flags, NULL);
      }
    }
    return;
  }
  if (sscanf(way, "proc2:%d:%d", &version, &flags) < 1) missing("unknown way");
  for (int i = 0; i < kNameCount; ++i) get(kNames[i][1], &slots[i], version, flags, NULL);
}

__attribute__((visibility("default"))) int run_way(const char* way, unsigned long long stop_at) {
  struct functions cu;
  memset(&cu, 0, sizeof cu);
#ifdef WAYS_LINKED
  if (strcmp(way, "linked") == 0) cu = kLinked;
#endif
  if (!cu.init) resolve(way, (void**)&cu);
  for (int i = 0; i < kNameCount; ++i) {
    if (!((void**)&cu)[i]) missing(kNames[i][0]);
  }

  CUresult init = cu.init(0);
  printf("init=%d\n", init);
  if (init != CUDA_SUCCESS) {
    printf("init_again=%d\n", cu.init(0));
    return 0;
  }
  struct truth truth = truth_open(NULL);
  CUdevice device = 0;
  CUcontext context = NULL;
  MUST(cu.device_get(&device, 0));
  MUST(cu.retain(&context, device));
  MUST(cu.set_current(context));
  truth_choose_source(&truth);

  CUdeviceptr addresses[4096];
  unsigned count = 0;
  CUresult code = CUDA_SUCCESS;
  while (count < sizeof addresses / sizeof addresses[0] && (unsigned long long)count * kChunk < stop_at) {
    code = cu.mem_alloc(&addresses[count], kChunk);
    if (code != CUDA_SUCCESS) break;
    ++count;
  }
  unsigned long long taken = truth_taken_bytes(&truth);
  size_t free_bytes = 0, total_bytes = 0, device_bytes = 0;
  MUST(cu.mem_get_info(&free_bytes, &total_bytes));
  MUST(cu.total_mem(&device_bytes, device));
  printf("code=%d\nheld_bytes=%llu\ntaken_bytes=%llu\nfree_bytes=%zu\ntotal_bytes=%zu\ndevice_bytes=%zu\n", code,
         (unsigned long long)count * kChunk, taken, free_bytes, total_bytes, device_bytes);
  // Going on after the refusal: room is made, and used.
  if (count > 0) {
    MUST(cu.mem_free(addresses[--count]));
    printf("again=%d\n", cu.mem_alloc(&addresses[count], kChunk));
  }
  return 0;
}

#ifndef WAYS_PLUGIN
int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "dlsym";
  unsigned long long stop_at = parse_bytes(argc, argv, 2, GIB(4));
  if (strncmp(way, "plugin:", 7) != 0) return run_way(way, stop_at);
  void* plugin = dlopen(way + 7, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) missing(dlerror());
  int (*entry)(const char*, unsigned long long);
  *(void**)&entry = dlsym(plugin, "run_way");
  return entry("linked", stop_at);
}
#endif
