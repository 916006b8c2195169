/* A plugin that is linked with the driver, as Python extensions are: the program that loads it knows nothing of CUDA.
 */
#include "tests/integration/programs/driver_api.h"

extern CUresult cuInit(unsigned);
extern CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
extern CUresult cuCtxSetCurrent(CUcontext);
extern CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);

/* The driver's code that ended it. */
__attribute__((visibility("default"))) int plugin_fill(unsigned long long bytes, int* count) {
  CUcontext context;
  CUdeviceptr address;
  CUresult code = cuInit(0);
  if (code || (code = cuDevicePrimaryCtxRetain(&context, 0)) || (code = cuCtxSetCurrent(context))) return code;
  while ((code = cuMemAlloc_v2(&address, bytes)) == 0) ++*count;
  return code;
}
