/* Reaches the driver as the CUDA runtime does: dlopen, one dlsym of cuGetProcAddress_v2, and everything else through
 * that, itself included. Then allocates BYTES until refused. Usage: runtime_like BYTES */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/programs/driver_api.h"
#include "tests/integration/programs/proc_state.h"

typedef CUresult (*get_function)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static const char* const kBases[] = {
#define VGSIM_FUNCTION(symbol, base, version, stream) #base,
#define VGSIM_NOT_SIMULATED VGSIM_FUNCTION
#include "tests/sim_driver/functions.inc"
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION
};

static get_function get;

static void* find(const char* name, int version) {
  void* found = NULL;
  CUdriverProcAddressQueryResult status = 0;
  return get(name, &found, version, 0, &status) == 0 && status == 0 ? found : NULL;
}

int main(int argc, char** argv) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library || !(get = (get_function)dlsym(library, "cuGetProcAddress_v2"))) return 3;
  static const int kSelfVersions[] = {11030, 12000, 13000};
  for (size_t i = 0; i < sizeof kSelfVersions / sizeof *kSelfVersions; ++i) {
    printf("self %d", kSelfVersions[i]);
    print_place(find("cuGetProcAddress", kSelfVersions[i]));
    printf("\n");
  }
  get = (get_function)find("cuGetProcAddress", 12000);

  int asked = 0, ours = 0, found = 0;
  const char* last = "";
  for (size_t i = 0; i < sizeof kBases / sizeof *kBases; ++i) {
    if (strcmp(kBases[i], last) == 0) continue;
    last = kBases[i];
    void* address = find(last, 13000);
    Dl_info info;
    ++asked;
    found += address != NULL;
    ours += address && dladdr(address, &info) && strstr(info.dli_fname, "libvramguard.so") != NULL;
  }
  printf("asked %d found %d ours %d\n", asked, found, ours);

  CUresult (*init)(unsigned) = (CUresult(*)(unsigned))find("cuInit", 2000);
  CUresult (*retain)(CUcontext*, CUdevice) = (CUresult(*)(CUcontext*, CUdevice))find("cuDevicePrimaryCtxRetain", 7000);
  CUresult (*set_current)(CUcontext) = (CUresult(*)(CUcontext))find("cuCtxSetCurrent", 4000);
  CUresult (*alloc)(CUdeviceptr*, size_t) = (CUresult(*)(CUdeviceptr*, size_t))find("cuMemAlloc", 3020);
  CUcontext context = NULL;
  if (init(0) || retain(&context, 0) || set_current(context)) return 3;
  int count = 0;
  CUresult code = 0;
  for (CUdeviceptr address; (code = alloc(&address, strtoull(argc > 1 ? argv[1] : "33554432", NULL, 0))) == 0;) ++count;
  printf("fill %d %d\n", code, count);
  return 0;
}
