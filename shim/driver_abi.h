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

enum CUstreamCaptureStatus : int { CU_STREAM_CAPTURE_STATUS_NONE = 0 };
enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum CUdriverProcAddressQueryResult : int;

// Passed through unread.
struct CUexecAffinityParam;
struct CUctxCreateParams;

}  // namespace vramguard::abi
