/* Calls what has nothing to do with memory, and prints what came back: to be compared between two runs. */
#include <stdio.h>
#include <string.h>

#include "tests/integration/programs/driver_api.h"

static const char* const kSymbols[] = {
#define VGSIM_FUNCTION(symbol, base, version, stream) #symbol,
#define VGSIM_NOT_SIMULATED VGSIM_FUNCTION
#include "tests/sim_driver/functions.inc"
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION
};

typedef CUresult (*any_function)(void*, void*, void*, void*, void*, void*);
static struct driver cu;

static void describe(CUdevice device) {
  char text[64] = "";
  CUuuid uuid;
  int value = 0;
  printf("name %d", cu.cuDeviceGetName(text, sizeof text, device));
  printf(" %s\nuuid %d", text, cu.cuDeviceGetUuid(&uuid, device));
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) printf(" %02x", (unsigned char)uuid.bytes[i]);
  printf("\npci %d", cu.cuDeviceGetPCIBusId(text, sizeof text, device));
  printf(" %s\n", text);
  for (int attribute = 0; attribute < 160; ++attribute) {
    const CUresult code = cu.cuDeviceGetAttribute(&value, attribute, device);
    printf("attribute %d %d %d\n", attribute, code, value);
  }
  for (CUdevice peer = 0; peer < 3; ++peer) {
    const CUresult code = cu.cuDeviceCanAccessPeer(&value, device, peer);
    printf("peer %d %d %d\n", peer, code, value);
  }
}

static void describe_pointer(CUdeviceptr address) {
  static const int kAttributes[] = {2, 7, 8, 9, 12, 13, 17};
  for (size_t i = 0; i < sizeof kAttributes / sizeof *kAttributes; ++i) {
    unsigned long long value = 0;
    const CUresult code = cu.cuPointerGetAttribute(&value, kAttributes[i], address);
    printf("pointer %d %d %llu\n", kAttributes[i], code, value);
  }
  CUdeviceptr base = 0;
  size_t size = 0;
  const CUresult code = cu.cuMemGetAddressRange_v2(&base, &size, address + 100);
  printf("range %d %d %zu\n", code, base == address, size);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  cu = find_driver("dlsym");
  CUcontext context = NULL;
  CUdeviceptr linear = 0, managed = 0;
  if (cu.cuInit(0)) return 1;
  for (CUdevice device = 0; device < 3; ++device) describe(device);
  if (cu.cuDevicePrimaryCtxRetain(&context, 0) || cu.cuCtxSetCurrent(context)) return 1;
  if (cu.cuMemAlloc_v2(&linear, 12345) || cu.cuMemAllocManaged(&managed, 54321, 1)) return 1;
  describe_pointer(linear);
  describe_pointer(managed);
  for (size_t i = 0; i < sizeof kSymbols / sizeof *kSymbols; ++i) {
    any_function function = (any_function)find_function("dlsym", kSymbols[i]);
    if (!function) continue;
    printf("%s ", kSymbols[i]);
    printf("%d\n", function(0, 0, 0, 0, 0, 0));
  }
  return 0;
}
