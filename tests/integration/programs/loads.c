/* Takes memory that no allocation call shows, then fills what is left: loads MODULES STACK_BYTES. Prints what the
 * driver takes for the process at the end, and the code of the last request. */
#include <unistd.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

static struct driver cu;

static unsigned long long used(void) {
  size_t free_bytes = 0, total_bytes = 0;
  must(cu.cuMemGetInfo_v2(&free_bytes, &total_bytes) == 0, "cuMemGetInfo_v2");
  return total_bytes - free_bytes;
}

int main(int argc, char** argv) {
  CUresult (*load)(void**, const void*);
  void* module = NULL;
  CUdeviceptr address = 0;
  CUresult code = 0;
  must(argc == 3, "two arguments");
  cu = start_cuda();
  *(void**)&load = find_function("dlsym", "cuModuleLoadData");
  must(cu.cuCtxSetLimit(0, strtoull(argv[2], NULL, 0)) == 0, "cuCtxSetLimit");
  for (int i = atoi(argv[1]); i > 0; --i) must(load(&module, "image") == 0, "cuModuleLoadData");
  /* The guard looks four times a second. */
  for (int i = 0; used() != nvml_bytes(0) && i < 20000; ++i) usleep(1000);
  while ((code = cu.cuMemAlloc_v2(&address, 2 * kMiB)) == 0) {
  }
  printf("%llu %d\n", nvml_bytes(0), code);
  return 0;
}
