/* The driver as the test programs call it: types as in cuda.h, the functions by their exported names. No toolkit
 * needed. */
#ifndef VRAMGUARD_TEST_DRIVER_API_H
#define VRAMGUARD_TEST_DRIVER_API_H

#include "tests/support/driver_types.h"

/* Every row of the table of wrapped functions, and these that are not wrapped: F(symbol, parameters). */
#define OTHER_DRIVER_FUNCTIONS(F)                                                                            \
  F(cuDriverGetVersion, (int* version))                                                                      \
  F(cuDeviceGetCount, (int* count))                                                                          \
  F(cuDeviceGet, (CUdevice * device, int ordinal))                                                           \
  F(cuDeviceGetName, (char* name, int size, CUdevice device))                                                \
  F(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device))                                                       \
  F(cuDeviceGetPCIBusId, (char* text, int size, CUdevice device))                                            \
  F(cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                                      \
  F(cuCtxSetCurrent, (CUcontext context))                                                                    \
  F(cuCtxGetCurrent, (CUcontext * context))                                                                  \
  F(cuCtxGetDevice, (CUdevice * device))                                                                     \
  F(cuCtxPushCurrent_v2, (CUcontext context))                                                                \
  F(cuCtxPopCurrent_v2, (CUcontext * context))                                                               \
  F(cuPointerGetAttribute, (void* data, int attribute, CUdeviceptr address))                                 \
  F(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t * size, CUdeviceptr address))                       \
  F(cuMemsetD8_v2, (CUdeviceptr address, unsigned char value, size_t bytes))                                 \
  F(cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer))                                       \
  F(cuStreamCreate, (CUstream * stream, unsigned flags))                                                     \
  F(cuStreamSynchronize, (CUstream stream))                                                                  \
  F(cuMemAddressReserve,                                                                                     \
    (CUdeviceptr * address, size_t bytes, size_t alignment, CUdeviceptr at, unsigned long long flags))       \
  F(cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void* value))                                  \
  F(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device))                                       \
  F(cuGraphCreate, (CUgraph * graph, unsigned flags))                                                        \
  F(cuGraphDestroy, (CUgraph graph))                                                                         \
  F(cuGraphAddMemFreeNode,                                                                                   \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUdeviceptr address)) \
  F(cuGetErrorName, (CUresult error, const char** text))

struct driver {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) CUresult(*symbol) parameters;
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
#define OTHER(symbol, parameters) CUresult(*symbol) parameters;
  OTHER_DRIVER_FUNCTIONS(OTHER)
#undef OTHER
};

/* ways.c: one function by one of the ways in: link, dlsym, dlvsym, default, next, proc, proc_v2, proc_self. NULL where
 * the driver does not have it. Ends the program where the way itself does not exist. */
void* find_function(const char* way, const char* symbol);
/* All of them; a function that is missing is NULL. */
struct driver find_driver(const char* way);

#endif
