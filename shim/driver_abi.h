// The few types and values of the CUDA driver API that the shim needs, so that it builds without a CUDA toolkit.
// Layouts are those of cuda.h 11.0 to 13.0; tests/integration/driver_abi_test.cpp compares them where a toolkit is
// found.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramguard::abi {

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_PERMITTED = 800,
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUdeviceptr_v1 = unsigned int;  // of the symbols without a version suffix, from CUDA 2.0
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using cuuint64_t = std::uint64_t;

struct CUuuid {
  char bytes[16];
};

using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUmemGenericAllocationHandle = unsigned long long;
using CUarray = struct CUarray_st*;
using CUmipmappedArray = struct CUmipmappedArray_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;

enum CUmemLocationType : int { CU_MEM_LOCATION_TYPE_DEVICE = 1, CU_MEM_LOCATION_TYPE_HOST = 2 };
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};

// The parts that are read; what follows is left out, so these are never made or copied here.
struct CUmemPoolProps {
  int allocType;
  int handleTypes;
  CUmemLocation location;
};
// Whole: a sentinel's chunks are made with it.
struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  unsigned char allocFlags[8];
};
constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;

enum CUmemPool_attribute : int {
  CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
  CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
};
enum CUgraphMem_attribute : int { CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2 };
enum CUlimit : int { CU_LIMIT_STACK_SIZE = 0 };
enum CUpointer_attribute : int { CU_POINTER_ATTRIBUTE_IS_MANAGED = 8 };

enum CUgraphNodeType : int { CU_GRAPH_NODE_TYPE_GRAPH = 4, CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10 };
struct CUDA_MEM_ALLOC_NODE_PARAMS {
  CUmemPoolProps poolProps;
  char unread[88];  // of poolProps, and what access the node asks for
  std::size_t bytesize;
  CUdeviceptr dptr;
};
struct CUgraphNodeParams {  // the part that is read
  CUgraphNodeType type;
};
struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  cuuint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  int result_out;
};
constexpr cuuint64_t CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD = 2;

struct CUDA_ARRAY_DESCRIPTOR_v1 {
  unsigned int Width, Height;
  int Format;
  unsigned int NumChannels;
};
struct CUDA_ARRAY_DESCRIPTOR {
  std::size_t Width, Height;
  int Format;
  unsigned int NumChannels;
};
struct CUDA_ARRAY3D_DESCRIPTOR_v1 {
  unsigned int Width, Height, Depth;
  int Format;
  unsigned int NumChannels, Flags;
};
struct CUDA_ARRAY3D_DESCRIPTOR {
  std::size_t Width, Height, Depth;
  int Format;
  unsigned int NumChannels, Flags;
};
enum : unsigned int {
  CUDA_ARRAY3D_LAYERED = 0x01,
  CUDA_ARRAY3D_CUBEMAP = 0x04,
  CUDA_ARRAY3D_SPARSE = 0x40,
  CUDA_ARRAY3D_DEFERRED_MAPPING = 0x80,
};
struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
  std::size_t size, alignment;
  unsigned int reserved[4];
};

enum CUmem_advise : int {
  CU_MEM_ADVISE_SET_READ_MOSTLY = 1,
  CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3,
  CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4
};
constexpr CUdevice CU_DEVICE_CPU = -1;
constexpr unsigned int CU_MEM_ATTACH_GLOBAL = 1;

enum CUstreamCaptureStatus : int { CU_STREAM_CAPTURE_STATUS_NONE = 0 };
enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum CUdriverProcAddressQueryResult : int;

// NVML's, from nvml.h.
enum nvmlReturn_t : int { NVML_SUCCESS = 0, NVML_ERROR_FUNCTION_NOT_FOUND = 13 };
using nvmlDevice_t = struct nvmlDevice_st*;
struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlMemory_v2_t {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
struct nvmlPciInfo_t {  // of nvmlDeviceGetPciInfo_v3
  char busIdLegacy[16];
  unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};

// Passed through unread.
struct CUexecAffinityParam;
struct CUctxCreateParams;
struct CUgraphEdgeData;

}  // namespace vramguard::abi
