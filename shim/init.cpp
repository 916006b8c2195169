// cuInit: where the guard starts, and where a program that cannot be guarded is stopped.
#include "shim/driver.h"
#include "shim/process.h"

namespace vramguard::entry {

CUresult cuInit(unsigned int flags) {
  if (!may_initialize()) return CUDA_ERROR_NOT_PERMITTED;
  const CUresult result = forward(&DriverFunctions::cuInit, flags);
  if (result != CUDA_SUCCESS) return result;
  switch (start_guard()) {
    case Started::Yes:
      return CUDA_SUCCESS;
    case Started::No:
      return CUDA_ERROR_NOT_PERMITTED;
    case Started::WithoutSentinel:
      return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}

}  // namespace vramguard::entry
