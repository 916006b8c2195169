// cuGetProcAddress: the driver is asked, and what it gives is replaced by address. The runtime takes everything from
// here.
#include "shim/driver.h"
#include "shim/replacements.h"

namespace vramguard::entry {

CUresult cuGetProcAddress(const char* symbol, void** pfn, int driver_version, cuuint64_t flags) {
  const CUresult result = forward(&DriverFunctions::cuGetProcAddress, symbol, pfn, driver_version, flags);
  if (result == CUDA_SUCCESS && pfn != nullptr) *pfn = replacement_of(*pfn);
  return result;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int driver_version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  const CUresult result = forward(&DriverFunctions::cuGetProcAddress_v2, symbol, pfn, driver_version, flags, status);
  if (result == CUDA_SUCCESS && pfn != nullptr) *pfn = replacement_of(*pfn);
  return result;
}

}  // namespace vramguard::entry
