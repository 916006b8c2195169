// cuInit: where the guard starts, and where a program that cannot be guarded is stopped.
#include "shim/driver.h"
#include "shim/process.h"

namespace vramguard::entry {

CUresult cuInit(unsigned int flags) {
  if (!may_initialize()) return CUDA_ERROR_NOT_PERMITTED;
  const CUresult result = forward(&DriverFunctions::cuInit, flags);
  if (result != CUDA_SUCCESS) return result;
  return start_guard() ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED;
}

}  // namespace vramguard::entry
