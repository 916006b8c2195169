// The few driver functions that these programs use, declared here so that no CUDA toolkit is needed to build them.
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/driver_types.h"

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NOT_PERMITTED = 800,
};

#define KIB(n) ((unsigned long long)(n) << 10)
#define MIB(n) ((unsigned long long)(n) << 20)
#define GIB(n) ((unsigned long long)(n) << 30)

#define DRIVER_FUNCTIONS(F)                                                                                            \
  F(cuInit, (unsigned flags))                                                                                          \
  F(cuDeviceGet, (CUdevice * device, int ordinal))                                                                     \
  F(cuDeviceGetCount, (int* count))                                                                                    \
  F(cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer))                                                 \
  F(cuDeviceGetName, (char* name, int size, CUdevice device))                                                          \
  F(cuDeviceGetPCIBusId, (char* id, int size, CUdevice device))                                                        \
  F(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                                            \
  F(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                                  \
  F(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                                   \
  F(cuDevicePrimaryCtxReset_v2, (CUdevice device))                                                                     \
  F(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device))                                            \
  F(cuCtxDestroy_v2, (CUcontext context))                                                                              \
  F(cuCtxSetCurrent, (CUcontext context))                                                                              \
  F(cuCtxGetCurrent, (CUcontext * context))                                                                            \
  F(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                                              \
  F(cuMemAllocPitch_v2, (CUdeviceptr * address, size_t * pitch, size_t width, size_t height, unsigned element))        \
  F(cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags))                                          \
  F(cuMemFree_v2, (CUdeviceptr address))                                                                               \
  F(cuMemGetInfo_v2, (size_t * free, size_t * total))                                                                  \
  F(cuMemsetD8Async, (CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream))                        \
  F(cuStreamCreate, (CUstream * stream, unsigned flags))                                                               \
  F(cuStreamDestroy_v2, (CUstream stream))                                                                             \
  F(cuMemPrefetchAsync, (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream))                         \
  F(cuStreamSynchronize, (CUstream stream))                                                                            \
  F(cuMemsetD8_v2, (CUdeviceptr address, unsigned char value, size_t bytes))                                           \
  F(cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream))                                           \
  F(cuMemFreeAsync, (CUdeviceptr address, CUstream stream))                                                            \
  F(cuMemAllocFromPoolAsync, (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream))                \
  F(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps* props))                                               \
  F(cuMemPoolDestroy, (CUmemoryPool pool))                                                                             \
  F(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep))                                                                 \
  F(cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void* value))                                            \
  F(cuMemPoolGetAttribute, (CUmemoryPool pool, int attribute, void* value))                                            \
  F(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device))                                                 \
  F(cuMemAddressReserve,                                                                                               \
    (CUdeviceptr * address, size_t bytes, size_t alignment, CUdeviceptr at, unsigned long long flags))                 \
  F(cuMemAddressFree, (CUdeviceptr address, size_t bytes))                                                             \
  F(cuMemCreate,                                                                                                       \
    (CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp* prop, unsigned long long flags))  \
  F(cuMemRelease, (CUmemGenericAllocationHandle handle))                                                               \
  F(cuMemMap,                                                                                                          \
    (CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)) \
  F(cuMemUnmap, (CUdeviceptr address, size_t bytes))                                                                   \
  F(cuMemSetAccess, (CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count))                  \
  F(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void* address))                               \
  F(cuArrayCreate_v2, (CUarray * array, const CUDA_ARRAY_DESCRIPTOR* descriptor))                                      \
  F(cuArray3DCreate_v2, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor))                                  \
  F(cuArrayDestroy, (CUarray array))                                                                                   \
  F(cuMipmappedArrayCreate, (CUmipmappedArray * array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels))    \
  F(cuMipmappedArrayDestroy, (CUmipmappedArray array))                                                                 \
  F(cuGraphCreate, (CUgraph * graph, unsigned flags))                                                                  \
  F(cuGraphAddMemAllocNode, (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, size_t count,         \
                             CUDA_MEM_ALLOC_NODE_PARAMS* params))                                                      \
  F(cuGraphAddMemFreeNode,                                                                                             \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUdeviceptr address))           \
  F(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                        \
  F(cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                                                \
  F(cuGraphUpload, (CUgraphExec exec, CUstream stream))                                                                \
  F(cuGraphExecDestroy, (CUgraphExec exec))                                                                            \
  F(cuDeviceGraphMemTrim, (CUdevice device))                                                                           \
  F(cuDeviceGetGraphMemAttribute, (CUdevice device, int attribute, void* value))                                       \
  F(cuStreamBeginCapture_v2, (CUstream stream, int mode))                                                              \
  F(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                                            \
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
