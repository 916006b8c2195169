/* The driver as the CUDA runtime finds it: by dlopen. */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long CUdeviceptr;

static int (*info)(size_t*, size_t*);
static int (*allocate)(CUdeviceptr*, size_t);
static int (*release)(CUdeviceptr);
static int (*set_current)(void*);
static void* context;

static void must(const char* what, int result) {
  if (result == 0) return;
  fprintf(stderr, "%s failed with error %d\n", what, result);
  exit(1);
}

static void* symbol(void* driver, const char* name) {
  void* found = dlsym(driver, name);
  if (found) return found;
  fprintf(stderr, "the driver has no %s\n", name);
  exit(1);
}

static void start_cuda(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  int (*init)(unsigned) = symbol(driver, "cuInit");
  int (*retain)(void**, int) = symbol(driver, "cuDevicePrimaryCtxRetain");
  info = symbol(driver, "cuMemGetInfo_v2");
  allocate = symbol(driver, "cuMemAlloc_v2");
  release = symbol(driver, "cuMemFree_v2");
  set_current = symbol(driver, "cuCtxSetCurrent");
  must("cuInit", init(0));
  must("cuDevicePrimaryCtxRetain", retain(&context, 0));
  must("cuCtxSetCurrent", set_current(context));
}
