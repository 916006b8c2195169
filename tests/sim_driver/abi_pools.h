// Memory pools: types exactly as in cuda.h. Included by abi.h.
#pragma once

struct CUmemPoolProps_v1 {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
using CUmemPoolProps = CUmemPoolProps_v1;

struct CUmemPoolPtrExportData_v1 {
  unsigned char reserved[64];
};
using CUmemPoolPtrExportData = CUmemPoolPtrExportData_v1;
