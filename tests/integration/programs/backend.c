/* A library whose functions have names of the driver's, and that looks them up in itself. */
#include <dlfcn.h>

int cuInit(unsigned flags) { return (int)flags + 100; }
int cuMemAlloc_v2(void* address, unsigned long bytes) { return address == 0 && bytes == 0 ? 102 : 103; }

int backendCreate(void) {
  Dl_info info;
  dladdr((void*)backendCreate, &info);
  void* self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  return dlsym(self, "backendCreate") == (void*)backendCreate && dlsym(self, "cuInit") == (void*)cuInit &&
         dlsym(self, "cuMemAlloc_v2") == (void*)cuMemAlloc_v2;
}
