/* Uses the driver before main. Prints the code of cuInit then, and how many 32 MiB fit. */
#include <stdio.h>

#include "tests/integration/programs/driver_api.h"

static CUresult early = -1;
static struct driver cu;

__attribute__((constructor(101))) static void before_main(void) {
  cu = find_driver("dlsym");
  early = cu.cuInit(0);
}

int main(void) {
  CUcontext context = NULL;
  if (cu.cuDevicePrimaryCtxRetain(&context, 0) != 0 || cu.cuCtxSetCurrent(context) != 0) return 3;
  int count = 0;
  for (CUdeviceptr address = 0; cu.cuMemAlloc_v2(&address, 32 << 20) == 0;) ++count;
  printf("early %d %d\n", early, count);
  return 0;
}
