/* A libcuda.so.1 that looks itself up, as some drivers do. Each function answers 0 when dlsym gave it the driver's own.
 */
#include <dlfcn.h>
#include <string.h>

static int depth;

static void* own_handle(void) {
  Dl_info info;
  dladdr((void*)own_handle, &info);
  return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

static int finds_itself(const char* name, const void* self) {
  if (depth > 0) return 901; /* it came back to us */
  ++depth;
  void* found = dlsym(own_handle(), name);
  int (*call)(unsigned) = (int (*)(unsigned))dlsym(own_handle(), "cuInternal");
  const int called = call ? call(1) : 902;
  --depth;
  return found == self ? called : 903;
}

int cuInit(unsigned flags) {
  (void)flags;
  return finds_itself("cuInit", (void*)cuInit);
}

/* A memory function of a version that nobody here has heard of. */
static int from_the_future(void) { return 0; }

int cuGetProcAddress_v2(const char* symbol, void** pfn, int version, unsigned long long flags, int* status) {
  (void)version, (void)flags;
  *pfn = strcmp(symbol, "cuMemAlloc") == 0 ? (void*)from_the_future : dlsym(own_handle(), symbol);
  if (status) *status = *pfn ? 0 : 1;
  return 0;
}

int cuInternal(unsigned flags) { return flags == 1 ? 0 : 904; }

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 0;
  return 0;
}

/* Not wrapped by anybody: here no call of the guard is under way. */
int cuSelfCheck(void) { return finds_itself("cuInit", (void*)cuInit); }
