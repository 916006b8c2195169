// The few driver functions that these programs use, declared here so that no CUDA toolkit is needed to build them.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
typedef struct CUgraph_st* CUgraph;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NOT_PERMITTED = 800,
};

#define KIB(n) ((unsigned long long)(n) << 10)
#define MIB(n) ((unsigned long long)(n) << 20)
#define GIB(n) ((unsigned long long)(n) << 30)

#define DRIVER_FUNCTIONS(F)                                                                                     \
  F(cuInit, (unsigned flags))                                                                                   \
  F(cuDeviceGet, (CUdevice * device, int ordinal))                                                              \
  F(cuDeviceGetName, (char* name, int size, CUdevice device))                                                   \
  F(cuDeviceGetPCIBusId, (char* id, int size, CUdevice device))                                                 \
  F(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                                     \
  F(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                           \
  F(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                            \
  F(cuDevicePrimaryCtxReset_v2, (CUdevice device))                                                              \
  F(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device))                                     \
  F(cuCtxDestroy_v2, (CUcontext context))                                                                       \
  F(cuCtxSetCurrent, (CUcontext context))                                                                       \
  F(cuCtxGetCurrent, (CUcontext * context))                                                                     \
  F(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                                       \
  F(cuMemAllocPitch_v2, (CUdeviceptr * address, size_t * pitch, size_t width, size_t height, unsigned element)) \
  F(cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags))                                   \
  F(cuMemFree_v2, (CUdeviceptr address))                                                                        \
  F(cuMemGetInfo_v2, (size_t * free, size_t * total))                                                           \
  F(cuMemsetD8Async, (CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream))                 \
  F(cuStreamCreate, (CUstream * stream, unsigned flags))                                                        \
  F(cuStreamDestroy_v2, (CUstream stream))                                                                      \
  F(cuStreamBeginCapture_v2, (CUstream stream, int mode))                                                       \
  F(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                                     \
  F(cuGraphDestroy, (CUgraph graph))

struct driver {
#define DECLARE_MEMBER(name, parameters) CUresult(*name) parameters;
  DRIVER_FUNCTIONS(DECLARE_MEMBER)
#undef DECLARE_MEMBER
};

static inline void* driver_handle(void) {
  void* handle = dlopen("libcuda.so.1", RTLD_NOW);
  if (!handle) {
    fprintf(stderr, "no CUDA driver: %s\n", dlerror());
    exit(3);
  }
  return handle;
}

// The driver as a program sees it that opens it at run time. Ends the program when there is none.
static inline struct driver load_driver(void) {
  void* handle = driver_handle();
  struct driver driver;
#define RESOLVE_MEMBER(name, parameters)              \
  *(void**)&driver.name = dlsym(handle, #name);       \
  if (!driver.name) {                                 \
    fprintf(stderr, "the driver has no %s\n", #name); \
    exit(3);                                          \
  }
  DRIVER_FUNCTIONS(RESOLVE_MEMBER)
#undef RESOLVE_MEMBER
  return driver;
}

// For calls that must succeed before a check can begin.
#define MUST(call)                                                                  \
  do {                                                                              \
    CUresult must_code = (call);                                                    \
    if (must_code != CUDA_SUCCESS) {                                                \
      fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, must_code); \
      exit(4);                                                                      \
    }                                                                               \
  } while (0)
