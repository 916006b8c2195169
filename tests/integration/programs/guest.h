/* What most of the small programs begin with. */
#ifndef VRAMGUARD_TEST_GUEST_H
#define VRAMGUARD_TEST_GUEST_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/integration/programs/driver_api.h"

enum { kMiB = 1 << 20 };

static inline void must(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "failed: %s\n", what);
  exit(3);
}

/* Makes the primary context of `device` current to this thread. */
static inline void use_device(const struct driver* cu, CUdevice device) {
  CUcontext context = NULL;
  must(cu->cuDevicePrimaryCtxRetain(&context, device) == 0, "cuDevicePrimaryCtxRetain");
  must(cu->cuCtxSetCurrent(context) == 0, "cuCtxSetCurrent");
}

static inline struct driver start_cuda(void) {
  const struct driver cu = find_driver("dlsym");
  must(cu.cuInit(0) == 0, "cuInit");
  use_device(&cu, 0);
  return cu;
}

static inline CUdeviceptr allocate_bytes(const struct driver* cu, size_t bytes) {
  CUdeviceptr address = 0;
  must(cu->cuMemAlloc_v2(&address, bytes) == 0, "cuMemAlloc_v2");
  return address;
}

/* Asks for more than any budget of the tests. */
static inline CUresult ask_too_much(const struct driver* cu) {
  CUdeviceptr address = 0;
  return cu->cuMemAlloc_v2(&address, (size_t)1 << 40);
}

#endif
