// Memory of other processes and other interfaces: types and values exactly as in cuda.h. Included by abi.h.
#pragma once

enum CUipcMem_flags : int { CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1 };
enum CUevent_flags : int { CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_INTERPROCESS = 4 };

struct CUipcMemHandle_v1 {
  char reserved[64];
};
using CUipcMemHandle = CUipcMemHandle_v1;

struct CUipcEventHandle_v1 {
  char reserved[64];
};
using CUipcEventHandle = CUipcEventHandle_v1;

using CUexternalMemory = struct CUextMemory_st*;

enum CUexternalMemoryHandleType : int { CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1 };

struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1 {
  CUexternalMemoryHandleType type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* nvSciBufObject;
  } handle;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];
};

struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1 {
  unsigned long long offset, size;
  unsigned int flags;
  unsigned int reserved[16];
};
